"""Translation between OpenAI's and Anthropic's protocols, and Anthropic as an upstream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memolith.adapters.clock import SystemClock
from memolith.adapters.models.anthropic import ANTHROPIC_URL
from memolith.adapters.models.http import (
    CONNECT_TIMEOUT_S,
    UNREADABLE_ERRORS,
    dig,
    find_http_library,
    incomplete_failure,
    proxy_exemptions,
    require_package,
    silence_debug_logs,
    status_failure,
    timeout_failure,
    token_count,
    unreachable_failure,
    unreadable_failure,
)
from memolith.errors import ServiceFailed
from memolith.server.problems import Problem
from memolith.server.proxy.openai import (
    AUTH_STATUSES,
    EVENTS,
    JSON,
    ChatRequest,
    UpstreamResponse,
    filter_headers,
    redact_key,
)

if TYPE_CHECKING:
    import anthropic


DEFAULT_MAX_TOKENS: Final = 4_096
"""Default of `max_tokens`, which Anthropic requires. A guess."""

_UNSUPPORTED: Final = "the upstream chat service is Anthropic and does not support"
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
    """Return the arguments of Anthropic's client, without `stream`.

    Arguments without an equivalent are dropped.

    Raises:
        Problem: The request cannot be translated.
    """
    if body.get("n") not in (None, 1):
        raise Problem(400, f"{_UNSUPPORTED} n > 1")
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
        # Anthropic's client has no such arguments: newer models reject them.
        "extra_body": {
            name: body[name] for name in _SAMPLING_PARAMETERS if body.get(name) is not None
        },
    }
    if not wanted["messages"]:
        raise Problem(400, "`messages` must contain a user or assistant message")
    if wanted["tools"]:
        wanted["tool_choice"] = _translate_tool_choice(body)
    return {name: value for name, value in wanted.items() if value}


def translate_completion(message: Any, created: int) -> dict[str, Any]:
    """Return a complete reply in OpenAI's format."""
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
    """Translates the events of a stream to OpenAI's format, in order."""

    created: int
    include_usage: bool
    _chunk_head: dict[str, Any] = field(default_factory=dict)
    _input_usage: Any = None
    _stop_reason: Any = None
    _output_tokens: int = 0
    _call_index: int = -1

    def translate_event(self, event: Any) -> Iterator[bytes]:
        """Yield an event in OpenAI's format."""
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
    """Return a list of models in OpenAI's format."""
    data = [
        {"id": dig(each, "id"), "object": "model", "created": 0, "owned_by": "anthropic"}
        for each in listed
    ]
    return {"object": "list", "data": data}


def translate_error_body(body: object, status: int) -> dict[str, Any]:
    """Return an error in OpenAI's format."""
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
    """Return a list of objects; empty if it is missing.

    Raises:
        Problem: The value is not a list of objects.
    """
    given = source.get(name) or []
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise Problem(400, f"{name} must be a list of objects")
    return given


def _merge_turns(turns: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge consecutive turns of the same role."""
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
        raise Problem(400, f"{_UNSUPPORTED} this message part")
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
        raise Problem(400, "the arguments of a tool call must be JSON") from None
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


# --- Upstream


T = TypeVar("T")

_OK: Final = 200
_ERROR_STATUS: Final = 400
_MODELS_PAGE_SIZE: Final = 1_000


@dataclass(slots=True)
class AnthropicUpstream:
    """Anthropic as an upstream that speaks OpenAI's protocol."""

    model: str
    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float = 60.0
    _client: anthropic.AsyncAnthropic | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check that the client is installed.

        Raises:
            InvalidConfiguration: The client is not installed.
        """
        require_package("anthropic", "chat.provider")

    @asynccontextmanager
    async def chat(self, ask: ChatRequest) -> AsyncIterator[UpstreamResponse]:
        """See `Upstream`."""
        wanted = translate_request(ask.body)
        created = int(SystemClock().now().timestamp())
        asking: Any = self._get_client().messages.create
        if not ask.is_stream:
            made = await self._attempt(asking(**wanted))
            yield (
                made
                if isinstance(made, UpstreamResponse)
                else _build_json_response(translate_completion(made, created))
            )
            return
        events = await self._attempt(asking(**wanted, stream=True))
        if isinstance(events, UpstreamResponse):
            yield events
            return
        tells_usage = dig(ask.body, "stream_options", "include_usage") is True
        pieces = self._stream_pieces(events, StreamTranslator(created, tells_usage))
        try:
            yield UpstreamResponse(_OK, {"content-type": EVENTS}, pieces=pieces)
        finally:
            await events.close()

    async def models(self) -> UpstreamResponse:
        """See `Upstream`."""
        page = await self._attempt(self._get_client().models.list(limit=_MODELS_PAGE_SIZE))
        return (
            page
            if isinstance(page, UpstreamResponse)
            else _build_json_response(translate_models(page.data))
        )

    async def close(self) -> None:
        """See `Upstream`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _attempt(self, call: Awaitable[T]) -> T | UpstreamResponse:
        """Return the result of a client call; rejections by the service become results, too."""
        import anthropic

        try:
            return await call
        except anthropic.APIStatusError as error:
            said = self._translate_status_error(error)
        except self._get_error_types() as error:
            said = self._translate_error(error)
        if isinstance(said, ServiceFailed):  # without the cause, which may contain the request
            raise said
        return said

    async def _stream_pieces(
        self, events: AsyncIterator[Any], translated: StreamTranslator
    ) -> AsyncIterator[bytes]:
        try:
            async for event in events:
                for piece in translated.translate_event(event):
                    yield piece
        except self._get_error_types() as error:
            failure = self._translate_error(error)
        else:
            return
        raise failure

    def _translate_status_error(
        self, error: anthropic.APIStatusError
    ) -> UpstreamResponse | ServiceFailed:
        status = error.status_code
        if status in AUTH_STATUSES:
            return status_failure(self._name, status, error.response.headers)
        if status < _ERROR_STATUS:  # an error in a stream that started successfully
            return incomplete_failure(self._name)
        body = redact_key(json.dumps(translate_error_body(error.body, status)), self.api_key)
        headers = {**filter_headers(error.response.headers), "content-type": JSON}
        return UpstreamResponse(status, headers, body.encode())

    def _translate_error(self, error: Exception) -> ServiceFailed:
        import anthropic

        httpx = find_http_library(anthropic.DefaultAsyncHttpxClient)
        if isinstance(error, anthropic.APITimeoutError | httpx.TimeoutException):
            return timeout_failure(self._name, self.timeout_s)
        if isinstance(error, anthropic.APIConnectionError | httpx.HTTPError):
            return unreachable_failure(self._name)
        return (
            incomplete_failure if isinstance(error, anthropic.APIError) else unreadable_failure
        )(self._name)

    def _get_error_types(self) -> tuple[type[Exception], ...]:
        import anthropic

        httpx = find_http_library(anthropic.DefaultAsyncHttpxClient)
        return (anthropic.AnthropicError, httpx.HTTPError, *UNREADABLE_ERRORS)

    @property
    def _name(self) -> str:
        return f"anthropic:{self.model}"

    def _get_client(self) -> anthropic.AsyncAnthropic:
        if self._client is None:
            import anthropic

            silence_debug_logs("anthropic", "anthropic._base_client")
            httpx = find_http_library(anthropic.DefaultAsyncHttpxClient)
            url = self.base_url or ANTHROPIC_URL
            timeout = httpx.Timeout(self.timeout_s, connect=min(self.timeout_s, CONNECT_TIMEOUT_S))
            self._client = anthropic.AsyncAnthropic(
                api_key=self.api_key,
                base_url=url,
                max_retries=0,  # the engine's client retries
                timeout=timeout,
                open_telemetry=False,
                http_client=anthropic.DefaultAsyncHttpxClient(
                    timeout=timeout, follow_redirects=False, mounts=proxy_exemptions(url)
                ),
            )
        return self._client


def _build_json_response(value: Mapping[str, Any]) -> UpstreamResponse:
    return UpstreamResponse(_OK, {"content-type": JSON}, json.dumps(value).encode())
