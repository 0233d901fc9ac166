"""OpenAI's API, which many services implement."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memolith.demo.model_server.messages import Asked, counts, pieces, tokens, turn
from memolith.ports.models import ResponseSchema

if TYPE_CHECKING:
    from memolith.demo.model_server.rules import Answer

_ID = "chatcmpl-scripted"
_CREATED = 1_700_000_000


def chat(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Asked:
    """Parse a chat request."""
    wanted = body.get("response_format", {}).get("json_schema")
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return Asked(
        "openai",
        path,
        body["model"],
        turns=tuple(turn(message["role"], message.get("content")) for message in body["messages"]),
        schema=ResponseSchema(wanted["name"], wanted["schema"]) if wanted else None,
        is_stream=bool(body.get("stream")),
        max_tokens=limit,
        temperature=body.get("temperature"),
        headers=headers,
        body=body,
    )


def plain(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a complete reply."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.calls:
        message = {**message, "content": answer.text or None, "tool_calls": _calls(answer)}
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer), "logprobs": None}
    return {
        **_head(asked, "chat.completion"),
        "choices": [choice],
        **({"usage": _usage(asked, answer)} if answer.tells_tokens else {}),
    }


def streamed(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """Yield the events of a streamed reply."""
    head = _head(asked, "chat.completion.chunk")
    yield _event({**head, "choices": [_delta({"role": "assistant", "content": ""})]})
    for piece in pieces(answer.text):
        yield _event({**head, "choices": [_delta({"content": piece})]})
    for place, call in enumerate(_calls(answer)):
        yield _event({**head, "choices": [_delta({"tool_calls": [{"index": place, **call}]})]})
    yield _event({**head, "choices": [_delta({}, _finish(answer))]})
    wanted = (asked.body.get("stream_options") or {}).get("include_usage")
    if wanted and answer.tells_tokens:
        yield _event({**head, "choices": [], "usage": _usage(asked, answer)})
    yield b"data: [DONE]\n\n"


def embeddings(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Asked:
    """Parse an embedding request."""
    given = body["input"]
    if not given:
        raise ValueError("`input` is empty")
    return Asked(
        "openai",
        path,
        body["model"],
        texts=(given,) if isinstance(given, str) else tuple(given),
        dimensions=body.get("dimensions"),
        headers=headers,
        body=body,
    )


def vectors(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of an embedding response: numbers, or bytes in base64 on request."""
    written = _packed if asked.body.get("encoding_format") == "base64" else list
    rows = answer.vectors or ()
    places = range(len(rows)) if answer.places is None else answer.places
    data = [
        {"object": "embedding", "index": place, "embedding": written(row)}
        for place, row in zip(places, rows, strict=True)
    ]
    count = sum(tokens(asked.texts))
    usage = {"prompt_tokens": count, "total_tokens": count}
    return {"object": "list", "data": data, "model": asked.model, "usage": usage}


def models(names: Sequence[str]) -> dict[str, Any]:
    """Return the list of models."""
    data = [
        {"id": name, "object": "model", "created": _CREATED, "owned_by": "memolith"}
        for name in names
    ]
    return {"object": "list", "data": data}


def problem(answer: Answer, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    kind = "server_error" if answer.status >= 500 else "invalid_request_error"  # noqa: PLR2004
    return {"error": {"message": message, "type": kind, "param": None, "code": answer.code or None}}


def _head(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": _ID, "object": kind, "created": _CREATED, "model": asked.model}


def _delta(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": given}}
        for place, (name, given) in enumerate(answer.calls)
    ]


def _finish(answer: Answer) -> str:
    whole = "tool_calls" if answer.calls else "stop"
    return answer.finish or (whole if answer.is_whole else "length")


def _usage(asked: Asked, answer: Answer) -> dict[str, int]:
    given, said = counts(asked, answer)
    return {"prompt_tokens": given, "completion_tokens": said, "total_tokens": given + said}


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _packed(row: Sequence[float]) -> str:
    return base64.b64encode(np.asarray(row, "<f4").tobytes()).decode()
