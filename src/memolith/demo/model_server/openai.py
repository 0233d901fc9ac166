"""OpenAI's API, which many services implement."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memolith.demo.model_server.messages import (
    ReceivedRequest,
    build_message,
    count_tokens,
    pieces,
    token_counts,
)
from memolith.ports.models import ResponseSchema

if TYPE_CHECKING:
    from memolith.demo.model_server.rules import Answer

_ID = "chatcmpl-scripted"
_CREATED = 1_700_000_000


def chat(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ReceivedRequest:
    """Parse a chat request."""
    schema = body.get("response_format", {}).get("json_schema")
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return ReceivedRequest(
        "openai",
        path,
        body["model"],
        messages=tuple(
            build_message(message["role"], message.get("content")) for message in body["messages"]
        ),
        schema=ResponseSchema(schema["name"], schema["schema"]) if schema else None,
        is_stream=bool(body.get("stream")),
        max_tokens=limit,
        temperature=body.get("temperature"),
        headers=headers,
        body=body,
    )


def build_reply(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    """Return the body of a complete reply."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if answer.calls:
        message = {**message, "content": answer.text or None, "tool_calls": _calls(answer)}
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer), "logprobs": None}
    return {
        **_head(request, "chat.completion"),
        "choices": [choice],
        **({"usage": _usage(request, answer)} if answer.has_token_counts else {}),
    }


def stream_reply(request: ReceivedRequest, answer: Answer) -> Iterator[bytes]:
    """Yield the events of a streamed reply."""
    head = _head(request, "chat.completion.chunk")
    yield _event({**head, "choices": [_delta({"role": "assistant", "content": ""})]})
    for piece in pieces(answer.text):
        yield _event({**head, "choices": [_delta({"content": piece})]})
    for index, call in enumerate(_calls(answer)):
        yield _event({**head, "choices": [_delta({"tool_calls": [{"index": index, **call}]})]})
    yield _event({**head, "choices": [_delta({}, _finish(answer))]})
    wants_usage = (request.body.get("stream_options") or {}).get("include_usage")
    if wants_usage and answer.has_token_counts:
        yield _event({**head, "choices": [], "usage": _usage(request, answer)})
    yield b"data: [DONE]\n\n"


def embeddings(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ReceivedRequest:
    """Parse an embedding request."""
    texts = body["input"]
    if not texts:
        raise ValueError("`input` is empty")
    return ReceivedRequest(
        "openai",
        path,
        body["model"],
        texts=(texts,) if isinstance(texts, str) else tuple(texts),
        dimensions=body.get("dimensions"),
        headers=headers,
        body=body,
    )


def vectors(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    """Return the body of an embedding response: numbers, or bytes in base64 on request."""
    encode = _encode_base64 if request.body.get("encoding_format") == "base64" else list
    rows = answer.vectors or ()
    indexes = range(len(rows)) if answer.indexes is None else answer.indexes
    data = [
        {"object": "embedding", "index": index, "embedding": encode(row)}
        for index, row in zip(indexes, rows, strict=True)
    ]
    count = sum(token_counts(request.texts))
    usage = {"prompt_tokens": count, "total_tokens": count}
    return {"object": "list", "data": data, "model": request.model, "usage": usage}


def models(names: Sequence[str]) -> dict[str, Any]:
    """Return the list of models."""
    data = [
        {"id": name, "object": "model", "created": _CREATED, "owned_by": "memolith"}
        for name in names
    ]
    return {"object": "list", "data": data}


def build_error(answer: Answer, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    kind = "server_error" if answer.status >= 500 else "invalid_request_error"  # noqa: PLR2004
    return {"error": {"message": message, "type": kind, "param": None, "code": answer.code or None}}


def _head(request: ReceivedRequest, kind: str) -> dict[str, Any]:
    return {"id": _ID, "object": kind, "created": _CREATED, "model": request.model}


def _delta(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for index, (name, arguments) in enumerate(answer.calls)
    ]


def _finish(answer: Answer) -> str:
    reason = "tool_calls" if answer.calls else "stop"
    return answer.finish or (reason if answer.is_complete else "length")


def _usage(request: ReceivedRequest, answer: Answer) -> dict[str, int]:
    input_tokens, output_tokens = count_tokens(request, answer)
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
    }


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _encode_base64(row: Sequence[float]) -> str:
    return base64.b64encode(np.asarray(row, "<f4").tobytes()).decode()
