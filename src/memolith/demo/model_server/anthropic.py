"""Anthropic's API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from memolith.demo.model_server.messages import Asked, counts, pieces, turn
from memolith.ports.models import ResponseSchema

if TYPE_CHECKING:
    from memolith.demo.model_server.rules import Answer

_KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def chat(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> Asked:
    """Parse a chat request. The system text is a separate field in this API."""
    system = (turn("system", body["system"]),) if body.get("system") else ()
    wanted = (body.get("output_config") or {}).get("format")
    return Asked(
        "anthropic",
        path,
        body["model"],
        turns=(*system, *(turn(said["role"], said["content"]) for said in body["messages"])),
        schema=ResponseSchema("", wanted["schema"]) if wanted else None,
        is_stream=bool(body.get("stream")),
        max_tokens=body["max_tokens"],
        temperature=body.get("temperature"),
        headers=headers,
        body=body,
    )


def plain(asked: Asked, answer: Answer) -> dict[str, Any]:
    """Return the body of a complete reply."""
    given, said = _counts(asked, answer)
    return {
        **_head(asked),
        "content": [
            *([{"type": "text", "text": answer.text}] if answer.text else []),
            *({**use, "input": json.loads(given)} for use, given in _uses(answer)),
        ],
        "stop_reason": _finish(answer),
        "usage": {"input_tokens": given, "output_tokens": said},
    }


def streamed(asked: Asked, answer: Answer) -> Iterator[bytes]:
    """Yield the events of a streamed reply."""
    given, said = _counts(asked, answer)
    usage = {"input_tokens": given, "output_tokens": 1}
    yield _event("message_start", message={**_head(asked), "content": [], "usage": usage})
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield _event("ping")
    for piece in pieces(answer.text):
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield _event("content_block_stop", index=0)
    for place, (use, told) in enumerate(_uses(answer), 1):
        yield _event("content_block_start", index=place, content_block={**use, "input": {}})
        delta = {"type": "input_json_delta", "partial_json": told}
        yield _event("content_block_delta", index=place, delta=delta)
        yield _event("content_block_stop", index=place)
    ending = {"stop_reason": _finish(answer), "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage={"output_tokens": said})
    yield _event("message_stop")


def problem(answer: Answer, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    kind = answer.code or _KINDS.get(answer.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _head(asked: Asked) -> dict[str, Any]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _finish(answer: Answer) -> str:
    whole = "tool_use" if answer.calls else "end_turn"
    return answer.finish or (whole if answer.is_whole else "max_tokens")


def _uses(answer: Answer) -> list[tuple[dict[str, Any], str]]:
    return [
        ({"type": "tool_use", "id": f"call_{place}", "name": name}, given)
        for place, (name, given) in enumerate(answer.calls)
    ]


def _counts(asked: Asked, answer: Answer) -> tuple[int, int]:
    """Return the token counts. This API always reports them: unknown counts are 0."""
    return counts(asked, answer) if answer.tells_tokens else (0, 0)


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()
