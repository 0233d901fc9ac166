"""OpenAI's protocol in the words of Anthropic's, and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from memolith.adapters.clients.wire import count, dig
from memolith.entrypoints.http.problems import Problem

MAX_TOKENS: Final = 4_096
"""What a reply may take where a client does not say, as Anthropic wants it said: a guess."""

_REFUSED: Final = "the chat service behind this one is Anthropic's, and takes no"
_FINISHES: Final[Mapping[str, str]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_CUT: Final = "length"
_ASIDE: Final = ("system", "developer")
_CHANCE: Final = ("temperature", "top_p")
_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "none": "none", "required": "any"}


def request(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Anthropic's client is to be asked, without `stream`.

    What Anthropic has no word for is left out.

    Raises:
        Problem: It can't be asked there.
    """
    if body.get("n") not in (None, 1):
        raise Problem(400, f"{_REFUSED} n over 1")
    messages = body["messages"]
    system = [_text(each) for each in messages if each["role"] in _ASIDE]
    stop = body.get("stop")
    wanted: dict[str, Any] = {
        "model": body.get("model"),
        "max_tokens": body.get("max_completion_tokens") or body.get("max_tokens") or MAX_TOKENS,
        "messages": _merged(_turn(each) for each in messages if each["role"] not in _ASIDE),
        "system": "\n\n".join(filter(None, system)),
        "stop_sequences": [stop] if isinstance(stop, str) else stop,
        "tools": [_tool(each) for each in _several(body, "tools")],
        "output_config": _format(body.get("response_format")),
        # Its client has no arguments for these any more: newer models refuse them.
        "extra_body": {name: body[name] for name in _CHANCE if body.get(name) is not None},
    }
    if not wanted["messages"]:
        raise Problem(400, "nobody has said anything")
    if wanted["tools"]:
        wanted["tool_choice"] = _choice(body)
    return {name: value for name, value in wanted.items() if value}


def completion(message: Any, created: int) -> dict[str, Any]:
    """Return a reply in one piece."""
    blocks = dig(message, "content") or []
    texts = [dig(each, "text") for each in blocks if dig(each, "type") == "text"]
    calls = [
        {**_call(dig(each, "id"), dig(each, "name")), "index": place}
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
        "finish_reason": _finish(dig(message, "stop_reason")),
        "logprobs": None,
    }
    return {
        "id": dig(message, "id"),
        "object": "chat.completion",
        "created": created,
        "model": dig(message, "model"),
        "choices": [choice],
        "usage": _usage(dig(message, "usage"), count(dig(message, "usage", "output_tokens"))),
    }


@dataclass(slots=True)
class Translating:
    """Turns the events of a stream, one after the other, into OpenAI's."""

    created: int
    tells_usage: bool
    _head: dict[str, Any] = field(default_factory=dict)
    _asked: Any = None
    _finish: Any = None
    _said: int = 0
    _calls: int = -1

    def event(self, event: Any) -> Iterator[bytes]:
        """Yield what an event is in OpenAI's form."""
        kind = dig(event, "type")
        if kind == "message_start":
            self._head = self._begun(dig(event, "message"))
            self._asked = dig(event, "message", "usage")
            yield self._chunk({"role": "assistant", "content": ""})
        elif kind == "content_block_start" and dig(event, "content_block", "type") == "tool_use":
            self._calls += 1
            call = _call(dig(event, "content_block", "id"), dig(event, "content_block", "name"))
            yield self._chunk({"tool_calls": [{"index": self._calls, **call}]})
        elif kind == "content_block_delta":
            yield from self._piece(dig(event, "delta"))
        elif kind == "message_delta":
            self._finish = dig(event, "delta", "stop_reason") or self._finish
            self._said = count(dig(event, "usage", "output_tokens")) or self._said
        elif kind == "message_stop":
            yield from self._end()

    def _piece(self, delta: Any) -> Iterator[bytes]:
        if dig(delta, "type") == "text_delta":
            yield self._chunk({"content": dig(delta, "text")})
        elif dig(delta, "type") == "input_json_delta":
            told = {"index": self._calls, "function": {"arguments": dig(delta, "partial_json")}}
            yield self._chunk({"tool_calls": [told]})

    def _end(self) -> Iterator[bytes]:
        yield self._chunk({}, _finish(self._finish))
        if self.tells_usage:
            yield _event({**self._head, "choices": [], "usage": _usage(self._asked, self._said)})
        yield b"data: [DONE]\n\n"

    def _begun(self, message: Any) -> dict[str, Any]:
        return {
            "id": dig(message, "id"),
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": dig(message, "model"),
        }

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _event({**self._head, "choices": [choice]})


def models(listed: Sequence[Any]) -> dict[str, Any]:
    """Return a list of models."""
    data = [
        {"id": dig(each, "id"), "object": "model", "created": 0, "owned_by": "anthropic"}
        for each in listed
    ]
    return {"object": "list", "data": data}


def problem(body: object, status: int) -> dict[str, Any]:
    """Return what a failure says."""
    message = dig(body, "error", "message")
    told = message if isinstance(message, str) else f"status {status}"
    kind = dig(body, "error", "type") or "api_error"
    return {"error": {"message": told, "type": kind, "param": None, "code": None}}


def _turn(entry: Mapping[str, Any]) -> dict[str, Any]:
    if entry["role"] in ("tool", "function"):
        result = {
            "type": "tool_result",
            "tool_use_id": entry.get("tool_call_id"),
            "content": _blocks(entry.get("content")),
        }
        return {"role": "user", "content": [result]}
    blocks = _blocks(entry.get("content"))
    calls = _several(entry, "tool_calls") if entry["role"] == "assistant" else ()
    return {"role": entry["role"], "content": [*blocks, *map(_use, calls)]}


def _several(of: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of objects, empty where there is none.

    Raises:
        Problem: It is no such list.
    """
    given = of.get(name) or []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise Problem(400, f"{name} must be a list of objects")
    return given


def _merged(turns: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return turns, those one after the other of the same speaker as one."""
    merged: list[dict[str, Any]] = []
    for turn in turns:
        if merged and merged[-1]["role"] == turn["role"]:
            merged[-1]["content"] += turn["content"]
        elif turn["content"]:
            merged.append(turn)
    return merged


def _blocks(content: object) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    parts = content if isinstance(content, list) else []
    return [_block(part) for part in parts]


def _block(part: Any) -> dict[str, Any]:
    kind = dig(part, "type")
    if kind in ("text", "refusal"):
        return {"type": "text", "text": dig(part, kind)}
    if kind != "image_url":
        raise Problem(400, f"{_REFUSED} such part of a message")
    url = str(dig(part, "image_url", "url") or "")
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    media, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def _use(call: Any) -> dict[str, Any]:
    given = dig(call, "function", "arguments") or "{}"
    try:
        read = json.loads(given)
    except (ValueError, TypeError, RecursionError):
        raise Problem(400, "the arguments of a tool's call are no JSON") from None
    name = dig(call, "function", "name")
    return {"type": "tool_use", "id": dig(call, "id"), "name": name, "input": read}


def _tool(tool: Any) -> dict[str, Any]:
    told = dig(tool, "function") or {}
    schema = dig(told, "parameters") or {"type": "object", "properties": {}}
    made = {"name": dig(told, "name"), "input_schema": schema}
    return {**made, "description": told["description"]} if dig(told, "description") else made


def _choice(body: Mapping[str, Any]) -> dict[str, Any]:
    chosen = body.get("tool_choice") or "auto"
    if isinstance(chosen, str):
        choice: dict[str, Any] = {"type": _CHOICES.get(chosen, "auto")}
    else:
        choice = {"type": "tool", "name": dig(chosen, "function", "name")}
    if body.get("parallel_tool_calls") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


def _format(wanted: Any) -> dict[str, Any] | None:
    schema = dig(wanted, "json_schema", "schema")
    return {"format": {"type": "json_schema", "schema": schema}} if schema else None


def _call(id_: Any, name: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": ""}}


def _finish(reason: object) -> str:
    return _FINISHES.get(str(reason), _CUT)


def _usage(asked: Any, said: int) -> dict[str, Any]:
    cached = count(dig(asked, "cache_read_input_tokens"))
    made = count(dig(asked, "cache_creation_input_tokens"))
    given = count(dig(asked, "input_tokens")) + cached + made
    return {
        "prompt_tokens": given,
        "completion_tokens": said,
        "total_tokens": given + said,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _text(entry: Mapping[str, Any]) -> str:
    return "\n\n".join(str(block.get("text", "")) for block in _blocks(entry.get("content")))


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"
