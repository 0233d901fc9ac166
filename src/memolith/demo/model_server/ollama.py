"""Ollama's API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

_CREATED = "2026-01-01T00:00:00Z"


def chat(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ReceivedRequest:
    """Parse a chat request. Replies are streamed by default."""
    response_format = body.get("format")
    options = body.get("options") or {}
    return ReceivedRequest(
        "ollama",
        path,
        body["model"],
        messages=tuple(
            build_message(message["role"], message["content"]) for message in body["messages"]
        ),
        schema=ResponseSchema("", response_format) if isinstance(response_format, dict) else None,
        is_stream=body.get("stream", True),
        max_tokens=options.get("num_predict"),
        temperature=options.get("temperature"),
        headers=headers,
        body=body,
    )


def build_reply(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    """Return the body of a complete reply."""
    return {**_part(request, answer.text), **_end(request, answer)}


def stream_reply(request: ReceivedRequest, answer: Answer) -> Iterator[bytes]:
    """Yield the lines of a streamed reply."""
    for piece in pieces(answer.text):
        yield _line({**_part(request, piece), "done": False})
    yield _line({**_part(request, ""), **_end(request, answer)})


def embeddings(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ReceivedRequest:
    """Parse an embedding request."""
    texts = body["input"]
    if not texts:
        raise ValueError("`input` is empty")
    return ReceivedRequest(
        "ollama",
        path,
        body["model"],
        texts=(texts,) if isinstance(texts, str) else tuple(texts),
        dimensions=body.get("dimensions"),
        headers=headers,
        body=body,
    )


def vectors(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    """Return the body of an embedding response."""
    return {
        "model": request.model,
        "embeddings": [list(row) for row in answer.vectors or ()],
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_count": sum(token_counts(request.texts)),
    }


def models(names: Sequence[str]) -> dict[str, Any]:
    """Return the list of models."""
    return {"models": [{"name": name, "model": name, "modified_at": _CREATED} for name in names]}


def build_error(answer: Answer, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    del answer
    return {"error": message}


def _part(request: ReceivedRequest, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"model": request.model, "created_at": _CREATED, "message": message}


def _end(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    input_tokens, output_tokens = count_tokens(request, answer)
    return {
        "done": True,
        "done_reason": answer.finish or ("stop" if answer.is_complete else "length"),
        "total_duration": 1,
        **(
            {"prompt_eval_count": input_tokens, "eval_count": output_tokens}
            if answer.has_token_counts
            else {}
        ),
    }


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
