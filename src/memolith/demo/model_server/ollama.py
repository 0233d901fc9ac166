"""Ollama's API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memolith.demo.model_server.messages import Asked, counts, pieces, tokens, turn
from memolith.ports.models import ResponseSchema

if TYPE_CHECKING:
    from memolith.demo.model_server.rules import Answer

_CREATED = "2026-01-01T00:00:00Z"


def chat(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Asked:
    """Parse a chat request. Replies are streamed by default."""
    wanted = body.get("format")
    options = body.get("options") or {}
    return Asked(
        "ollama",
        path,
        body["model"],
        turns=tuple(turn(message["role"], message["content"]) for message in body["messages"]),
        schema=ResponseSchema("", wanted) if isinstance(wanted, dict) else None,
        is_stream=body.get("stream", True),
        max_tokens=options.get("num_predict"),
        temperature=options.get("temperature"),
        headers=headers,
        body=body,
    )


def plain(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a complete reply."""
    return {**_part(asked, answer.text), **_end(asked, answer)}


def streamed(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """Yield the lines of a streamed reply."""
    for piece in pieces(answer.text):
        yield _line({**_part(asked, piece), "done": False})
    yield _line({**_part(asked, ""), **_end(asked, answer)})


def embeddings(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Asked:
    """Parse an embedding request."""
    given = body["input"]
    if not given:
        raise ValueError("`input` is empty")
    return Asked(
        "ollama",
        path,
        body["model"],
        texts=(given,) if isinstance(given, str) else tuple(given),
        dimensions=body.get("dimensions"),
        headers=headers,
        body=body,
    )


def vectors(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of an embedding response."""
    return {
        "model": asked.model,
        "embeddings": [list(row) for row in answer.vectors or ()],
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_count": sum(tokens(asked.texts)),
    }


def models(names: Sequence[str]) -> dict[str, Any]:
    """Return the list of models."""
    return {"models": [{"name": name, "model": name, "modified_at": _CREATED} for name in names]}


def problem(answer: Answer, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    del answer
    return {"error": message}


def _part(asked: Asked, text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"model": asked.model, "created_at": _CREATED, "message": message}


def _end(asked: Asked, answer: Answer) -> dict[str, Any]:
    given, said = counts(asked, answer)
    return {
        "done": True,
        "done_reason": answer.finish or ("stop" if answer.is_whole else "length"),
        "total_duration": 1,
        **({"prompt_eval_count": given, "eval_count": said} if answer.tells_tokens else {}),
    }


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"
