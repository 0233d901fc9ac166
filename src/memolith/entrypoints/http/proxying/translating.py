"""OpenAI's protocol in the words of Anthropic's, and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memolith.adapters.clients.wire import dig, token_count
from memolith.entrypoints.http.problems import Problem

DEFAULT_MAX_TOKENS: Final = 4_096
"""What a reply may take where a client does not say, as Anthropic wants it said: a guess."""

_UNSUPPORTED: Final = "the chat service behind this one is Anthropic's, and takes no"
_FINISH_REASONS: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_LENGTH: Final = "length"
_SYSTEM_ROLES: Final = ("system", "developer")
_SAMPLING_PARAMETERS: Final = ("temperature", "top_p")
_TOOL_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "none": "none", "required": "any"}


def translate_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Anthropic's client is to be asked, without `stream`.

    What Anthropic has no word for is left out.

    Raises:
        Problem: It can't be asked there.
    """
    if body.get("n") not in (None, 1):
        raise Problem(400, f"{_UNSUPPORTED} n over 1")
    messages = body["messages"]
    system = [_join_text(each) for each in messages if each["role"] in _SYSTEM_ROLES]
    stop = body.get("stop")
    wanted: dict[str, Any] = {
        "model": body.get("model"),
        "max_tokens": body.get("max_completion_tokens")
        or body.get("max_tokens")
        or DEFAULT_MAX_TOKENS,
        "messages": _merge_turns(
            _translate_message(each) for each in messages if each["role"] not in _SYSTEM_ROLES
        ),
        "system": "\n\n".join(filter(None, system)),
        "stop_sequences": [stop] if isinstance(stop, str) else stop,
        "tools": [_translate_tool(each) for each in _get_objects(body, "tools")],
        "output_config": _translate_response_format(body.get("response_format")),
        # Its client has no arguments for these any more: newer models refuse them.
        "extra_body": {
            name: body[name] for name in _SAMPLING_PARAMETERS if body.get(name) is not None
        },
    }
    if not wanted["messages"]:
        raise Problem(400, "nobody has said anything")
    if wanted["tools"]:
        wanted["tool_choice"] = _translate_tool_choice(body)
    return {name: value for name, value in wanted.items() if value}


def translate_completion(message: Any, created: int) -> dict[str, Any]:
    """Return a reply in one piece."""
    blocks = dig(message, "content") or []
    texts = [dig(each, "text") for each in blocks if dig(each, "type") == "text"]
    calls = [
        {**_build_call(dig(each, "id"), dig(each, "name")), "index": place}
        for place, each in enumerate(each for each in blocks if dig(each, "type") == "tool_use")
    ]
    inputs = [dig(each, "input") for each in blocks if dig(each, "type") == "tool_use"]
    for call, given in zip(calls, inputs, strict=True):
        del call["index"]
        call["function"]["arguments"] = json.dumps(given)
    said: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts else None}
    if calls:
        said["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": said,
        "finish_reason": _translate_stop_reason(dig(message, "stop_reason")),
        "logprobs": None,
    }
    return {
        "id": dig(message, "id"),
        "object": "chat.completion",
        "created": created,
        "model": dig(message, "model"),
        "choices": [choice],
        "usage": _build_usage(
            dig(message, "usage"), token_count(dig(message, "usage", "output_tokens"))
        ),
    }


@dataclass(slots=True)
class StreamTranslator:
    """Turns the events of a stream, one after the other, into OpenAI's."""

    created: int
    include_usage: bool
    _chunk_head: dict[str, Any] = field(default_factory=dict)
    _input_usage: Any = None
    _stop_reason: Any = None
    _output_tokens: int = 0
    _call_index: int = -1

    def translate_event(self, event: Any) -> Iterator[bytes]:
        """Yield what an event is in OpenAI's form."""
        kind = dig(event, "type")
        if kind == "message_start":
            self._chunk_head = self._build_head(dig(event, "message"))
            self._input_usage = dig(event, "message", "usage")
            yield self._build_chunk({"role": "assistant", "content": ""})
        elif kind == "content_block_start" and dig(event, "content_block", "type") == "tool_use":
            self._call_index += 1
            call = _build_call(
                dig(event, "content_block", "id"), dig(event, "content_block", "name")
            )
            yield self._build_chunk({"tool_calls": [{"index": self._call_index, **call}]})
        elif kind == "content_block_delta":
            yield from self._translate_delta(dig(event, "delta"))
        elif kind == "message_delta":
            self._stop_reason = dig(event, "delta", "stop_reason") or self._stop_reason
            self._output_tokens = (
                token_count(dig(event, "usage", "output_tokens")) or self._output_tokens
            )
        elif kind == "message_stop":
            yield from self._finish_stream()

    def _translate_delta(self, delta: Any) -> Iterator[bytes]:
        if dig(delta, "type") == "text_delta":
            yield self._build_chunk({"content": dig(delta, "text")})
        elif dig(delta, "type") == "input_json_delta":
            told = {
                "index": self._call_index,
                "function": {"arguments": dig(delta, "partial_json")},
            }
            yield self._build_chunk({"tool_calls": [told]})

    def _finish_stream(self) -> Iterator[bytes]:
        yield self._build_chunk({}, _translate_stop_reason(self._stop_reason))
        if self.include_usage:
            yield _encode_event(
                {
                    **self._chunk_head,
                    "choices": [],
                    "usage": _build_usage(self._input_usage, self._output_tokens),
                }
            )
        yield b"data: [DONE]\n\n"

    def _build_head(self, message: Any) -> dict[str, Any]:
        return {
            "id": dig(message, "id"),
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": dig(message, "model"),
        }

    def _build_chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _encode_event({**self._chunk_head, "choices": [choice]})


def translate_models(listed: Sequence[Any]) -> dict[str, Any]:
    """Return a list of models."""
    data = [
        {"id": dig(each, "id"), "object": "model", "created": 0, "owned_by": "anthropic"}
        for each in listed
    ]
    return {"object": "list", "data": data}


def translate_error_body(body: object, status: int) -> dict[str, Any]:
    """Return what a failure says."""
    message = dig(body, "error", "message")
    told = message if isinstance(message, str) else f"status {status}"
    kind = dig(body, "error", "type") or "api_error"
    return {"error": {"message": told, "type": kind, "param": None, "code": None}}


def _translate_message(entry: Mapping[str, Any]) -> dict[str, Any]:
    if entry["role"] in ("tool", "function"):
        result = {
            "type": "tool_result",
            "tool_use_id": entry.get("tool_call_id"),
            "content": _translate_content(entry.get("content")),
        }
        return {"role": "user", "content": [result]}
    blocks = _translate_content(entry.get("content"))
    calls = _get_objects(entry, "tool_calls") if entry["role"] == "assistant" else ()
    return {"role": entry["role"], "content": [*blocks, *map(_translate_tool_call, calls)]}


def _get_objects(source: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of objects, empty where there is none.

    Raises:
        Problem: It is no such list.
    """
    given = source.get(name) or []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise Problem(400, f"{name} must be a list of objects")
    return given


def _merge_turns(turns: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return turns, those one after the other of the same speaker as one."""
    merged: list[dict[str, Any]] = []
    for turn in turns:
        if merged and merged[-1]["role"] == turn["role"]:
            merged[-1]["content"] += turn["content"]
        elif turn["content"]:
            merged.append(turn)
    return merged


def _translate_content(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    parts = content if isinstance(content, list) else []
    return [_translate_part(part) for part in parts]


def _translate_part(part: Any) -> dict[str, Any]:
    kind = dig(part, "type")
    if kind in ("text", "refusal"):
        return {"type": "text", "text": dig(part, kind)}
    if kind != "image_url":
        raise Problem(400, f"{_UNSUPPORTED} such part of a message")
    url = str(dig(part, "image_url", "url") or "")
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    media, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def _translate_tool_call(call: Any) -> dict[str, Any]:
    given = dig(call, "function", "arguments") or "{}"
    try:
        read = json.loads(given)
    except (ValueError, TypeError, RecursionError):
        raise Problem(400, "the arguments of a tool's call are no JSON") from None
    name = dig(call, "function", "name")
    return {"type": "tool_use", "id": dig(call, "id"), "name": name, "input": read}


def _translate_tool(tool: Any) -> dict[str, Any]:
    told = dig(tool, "function") or {}
    schema = dig(told, "parameters") or {"type": "object", "properties": {}}
    made = {"name": dig(told, "name"), "input_schema": schema}
    return {**made, "description": told["description"]} if dig(told, "description") else made


def _translate_tool_choice(body: Mapping[str, Any]) -> dict[str, Any]:
    chosen = body.get("tool_choice") or "auto"
    if isinstance(chosen, str):
        choice: dict[str, Any] = {"type": _TOOL_CHOICES.get(chosen, "auto")}
    else:
        choice = {"type": "tool", "name": dig(chosen, "function", "name")}
    if body.get("parallel_tool_calls") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


def _translate_response_format(wanted: Any) -> dict[str, Any] | None:
    schema = dig(wanted, "json_schema", "schema")
    return {"format": {"type": "json_schema", "schema": schema}} if schema else None


def _build_call(id_: Any, name: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": ""}}


def _translate_stop_reason(reason: object) -> str:
    return _FINISH_REASONS.get(str(reason), _LENGTH)


def _build_usage(input_usage: Any, output_tokens: int) -> dict[str, Any]:
    cached = token_count(dig(input_usage, "cache_read_input_tokens"))
    made = token_count(dig(input_usage, "cache_creation_input_tokens"))
    given = token_count(dig(input_usage, "input_tokens")) + cached + made
    return {
        "prompt_tokens": given,
        "completion_tokens": output_tokens,
        "total_tokens": given + output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _join_text(entry: Mapping[str, Any]) -> str:
    return "\n\n".join(
        str(block.get("text", "")) for block in _translate_content(entry.get("content"))
    )


def _encode_event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"
