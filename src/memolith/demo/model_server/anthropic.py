"""Anthropic's API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from memolith.demo.model_server.messages import ReceivedRequest, build_message, count_tokens, pieces
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


def chat(path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> ReceivedRequest:
    """Parse a chat request. The system text is a separate field in this API."""
    system = (build_message("system", body["system"]),) if body.get("system") else ()
    response_format = (body.get("output_config") or {}).get("format")
    return ReceivedRequest(
        "anthropic",
        path,
        body["model"],
        messages=(
            *system,
            *(build_message(message["role"], message["content"]) for message in body["messages"]),
        ),
        schema=ResponseSchema("", response_format["schema"]) if response_format else None,
        is_stream=bool(body.get("stream")),
        max_tokens=body["max_tokens"],
        temperature=body.get("temperature"),
        headers=headers,
        body=body,
    )


def build_reply(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    """Return the body of a complete reply."""
    input_tokens, output_tokens = _counts(request, answer)
    return {
        **_head(request),
        "content": [
            *([{"type": "text", "text": answer.text}] if answer.text else []),
            *({**use, "input": json.loads(arguments)} for use, arguments in _uses(answer)),
        ],
        "stop_reason": _finish(answer),
        "usage": {"input_tokens": input_tokens, "output_tokens": output_tokens},
    }


def stream_reply(request: ReceivedRequest, answer: Answer) -> Iterator[bytes]:
    """Yield the events of a streamed reply."""
    input_tokens, output_tokens = _counts(request, answer)
    usage = {"input_tokens": input_tokens, "output_tokens": 1}
    yield _event("message_start", message={**_head(request), "content": [], "usage": usage})
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield _event("ping")
    for piece in pieces(answer.text):
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield _event("content_block_stop", index=0)
    for index, (use, arguments) in enumerate(_uses(answer), 1):
        yield _event("content_block_start", index=index, content_block={**use, "input": {}})
        delta = {"type": "input_json_delta", "partial_json": arguments}
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": _finish(answer), "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage={"output_tokens": output_tokens})
    yield _event("message_stop")


def build_error(answer: Answer, message: str) -> dict[str, Any]:
    """Return the body of an error."""
    kind = answer.code or _KINDS.get(answer.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _head(request: ReceivedRequest) -> dict[str, Any]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _finish(answer: Answer) -> str:
    reason = "tool_use" if answer.calls else "end_turn"
    return answer.finish or (reason if answer.is_complete else "max_tokens")


def _uses(answer: Answer) -> list[tuple[dict[str, Any], str]]:
    return [
        ({"type": "tool_use", "id": f"call_{index}", "name": name}, arguments)
        for index, (name, arguments) in enumerate(answer.calls)
    ]


def _counts(request: ReceivedRequest, answer: Answer) -> tuple[int, int]:
    """Return the token counts. This API always reports them: unknown counts are 0."""
    return count_tokens(request, answer) if answer.has_token_counts else (0, 0)


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
