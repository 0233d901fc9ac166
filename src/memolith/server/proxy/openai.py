"""OpenAI's chat protocol: requests, replies, and upstream services that speak it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn, Protocol

import httpx

from memolith.adapters.models.http import (
    CONNECT_TIMEOUT_S,
    MAX_BODY_BYTES,
    dig,
    incomplete_failure,
    proxy_exemptions,
    status_failure,
    timeout_failure,
    unreachable_failure,
    unreadable_failure,
)
from memolith.adapters.models.openai import TRUNCATED_REASONS
from memolith.policies.arguments import MAX_MESSAGE_CHARS
from memolith.server.problems import FieldError, Problem
from memolith.server.rest.requests import is_too_deep
from memolith.text.screening import REDACTED

ChatEntry = Mapping[str, Any]

_SYSTEM_ROLES = ("system", "developer")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for a reply.

    Attributes:
        body: The parsed body.
        messages: The messages in it.
        raw: The body's bytes.
    """

    body: Mapping[str, Any]
    messages: tuple[ChatEntry, ...]
    raw: bytes

    @property
    def user(self) -> str | None:
        """The `user` field; empty if missing."""
        user = self.body.get("user")
        return user if isinstance(user, str) else None

    @property
    def model(self) -> str:
        """The requested model; empty if missing."""
        model = self.body.get("model")
        return model if isinstance(model, str) else ""

    @property
    def is_stream(self) -> bool:
        """Whether the reply is to be streamed."""
        return self.body.get("stream") is True

    @property
    def has_single_choice(self) -> bool:
        """Whether the request is for one choice only."""
        return self.body.get("n") in (None, 1)

    def with_model(self, model: str) -> ChatRequest:
        """Return the request for another model.

        The model is named once: some services also read `Model`, and either may win.
        """
        rest = {name: value for name, value in self.body.items() if name.casefold() != "model"}
        return self._with_body({**rest, "model": model})

    def with_messages(self, messages: Sequence[ChatEntry]) -> ChatRequest:
        """Return the request with other messages."""
        if len(messages) == len(self.messages) and all(map(_is_same, messages, self.messages)):
            return self
        return self._with_body({**self.body, "messages": list(messages)})

    def _with_body(self, body: Mapping[str, Any]) -> ChatRequest:
        raw = json.dumps(body, separators=(",", ":")).encode()
        return replace(self, body=body, messages=tuple(body["messages"]), raw=raw)


def parse_chat_request(raw: bytes) -> ChatRequest:
    """Return the request in a body.

    Raises:
        Problem: The body is not a chat request.
    """
    try:
        body = json.loads(raw, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not JSON, or nested too deeply") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body must be a JSON object")
    if is_too_deep(body):
        raise Problem(400, "the body is nested too deeply")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _build_problem("messages", "must be a list of messages")
    for place, each in enumerate(messages):
        if not isinstance(each, dict) or not isinstance(each.get("role"), str):
            raise _build_problem(f"messages.{place}", "must be an object with a role")
    for name in ("model", "user"):
        if not isinstance(body.get(name) or "", str):
            raise _build_problem(name, "must be text")
    return ChatRequest(body, tuple(messages), raw)


def add_system_text(messages: Sequence[ChatEntry], text: str) -> list[ChatEntry]:
    """Return messages with a text in the first system message, which is added if missing."""
    if not text:
        return list(messages)
    first = messages[0] if messages else {}
    if first.get("role") not in _SYSTEM_ROLES:
        return [{"role": "system", "content": text}, *messages]
    return [{**first, "content": _append_text(first.get("content"), text)}, *messages[1:]]


def _append_text(content: object, text: str) -> object:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}" if isinstance(content, str) and content else text


def _build_problem(field: str, problem: str) -> Problem:
    return Problem(422, "invalid request", errors=[FieldError(field=field, problem=problem)])


def _is_same(one: object, other: object) -> bool:
    return one is other


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


# --- Replies


_DATA_PREFIX: Final = b"data:"

_MAX_EVENT_BYTES: Final = 1 << 22
"""Maximum length of a parsed stream event. A guess, far above that of any service."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply.

    Attributes:
        text: The text; empty if there is none, or if there are several choices.
        is_complete: Whether the reply is complete.
    """

    text: str = ""
    is_complete: bool = False


def parse_reply(body: bytes) -> ModelReply:
    """Return the reply in the body of a response that is not streamed."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ModelReply()
    choices = dig(value, "choices")
    if not isinstance(choices, list) or len(choices) != 1:
        return ModelReply(is_complete=True)
    return _build_reply(
        dig(value, "choices", 0, "message", "content"), dig(choices, 0, "finish_reason")
    )


@dataclass(slots=True)
class ReplyAccumulator:
    """Accumulates a server-sent event stream; incomplete lines are buffered.

    Attributes:
        is_done: Whether the stream has signalled its end.
    """

    is_done: bool = False
    _buffer: bytes = b""
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _finish_reason: Any = None
    _is_single_choice: bool = True
    _is_unreadable: bool = False

    def feed(self, piece: bytes) -> None:
        """Process the next bytes, split anywhere."""
        if self._is_unreadable:
            return
        *lines, self._buffer = (self._buffer + piece).split(b"\n")
        for line in lines:
            if line.startswith(_DATA_PREFIX):
                self._handle_event(line.removeprefix(_DATA_PREFIX))
        self._is_unreadable |= len(self._buffer) > _MAX_EVENT_BYTES

    def reply(self) -> ModelReply:
        """Return the reply received so far."""
        if not self._is_single_choice:
            return ModelReply(is_complete=self._finish_reason is not None)
        said = _build_reply("".join(self._pieces), self._finish_reason)
        return ModelReply(said.text, said.is_complete and not self._is_unreadable)

    def _handle_event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self.is_done = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self._is_unreadable = True  # the skipped event may contain text
            return
        choices = dig(event, "choices")
        for choice in choices if isinstance(choices, list) else []:
            if dig(choice, "index") in (None, 0):
                self._handle_choice(choice)
            else:
                self._is_single_choice = False

    def _handle_choice(self, choice: Any) -> None:
        piece = dig(choice, "delta", "content")
        self._finish_reason = dig(choice, "finish_reason") or self._finish_reason
        if isinstance(piece, str) and self._length <= MAX_MESSAGE_CHARS:
            self._length += len(piece)
            self._pieces.append(piece)


def _build_reply(text: object, finish: object) -> ModelReply:
    said = text if isinstance(text, str) else ""
    is_whole = isinstance(finish, str) and finish not in TRUNCATED_REASONS
    return ModelReply(said[:MAX_MESSAGE_CHARS], is_whole and len(said) <= MAX_MESSAGE_CHARS)


# --- Upstream services


JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_FORWARDED_HEADERS: Final = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
_FORWARDED_PREFIXES: Final = ("x-ratelimit-", "openai-")
AUTH_STATUSES: Final = frozenset({401, 403})
"""Statuses that are hidden from the client: the upstream rejected the proxy's API key."""

_ERROR_STATUS: Final = 400


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """Response of an upstream.

    Attributes:
        status: HTTP status.
        headers: Headers to pass on to the client.
        body: Body of a response that is not streamed.
        pieces: Chunks of a stream as they arrive; iterating raises `ServiceFailed` if it breaks.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    pieces: AsyncIterator[bytes] | None = None


class Upstream(Protocol):
    """A service with a language model.

    Attributes:
        model: Default model.
    """

    model: str

    def chat(self, ask: ChatRequest) -> AbstractAsyncContextManager[UpstreamResponse]:
        """Request a reply; a stream can be read while the context is open.

        Raises:
            ServiceFailed: There is no response, or none that the client may see.
        """
        ...

    async def models(self) -> UpstreamResponse:
        """Return the list of models in OpenAI's format.

        Raises:
            ServiceFailed: The list is not available.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(slots=True)
class OpenAIUpstream:
    """A service that speaks OpenAI's protocol; requests and responses are passed on unchanged."""

    model: str
    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float = 60.0
    _client: httpx.AsyncClient | None = field(default=None, repr=False)

    @asynccontextmanager
    async def chat(self, ask: ChatRequest) -> AsyncIterator[UpstreamResponse]:
        """See `Upstream`."""
        headers = {"Content-Type": JSON, "Accept": EVENTS if ask.is_stream else JSON}
        request = self._get_client().build_request(
            "POST", f"{self.base_url}/chat/completions", content=ask.raw, headers=headers
        )
        response = await self._send(request)
        try:
            yield await self._build_response(response)
        finally:
            await response.aclose()

    async def models(self) -> UpstreamResponse:
        """See `Upstream`."""
        response = await self._send(
            self._get_client().build_request("GET", f"{self.base_url}/models")
        )
        try:
            return await self._build_response(response)
        finally:
            await response.aclose()

    async def close(self) -> None:
        """See `Upstream`."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def _name(self) -> str:
        return f"openai:{self.model}"

    async def _send(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._get_client().send(request, stream=True)
        except httpx.TimeoutException:
            failure = timeout_failure(self._name, self.timeout_s)
        except httpx.HTTPError:
            failure = unreachable_failure(self._name)
        raise failure

    async def _build_response(self, response: httpx.Response) -> UpstreamResponse:
        status = response.status_code
        if status in AUTH_STATUSES or response.is_redirect:
            raise status_failure(self._name, status, response.headers)
        headers = filter_headers(response.headers)
        if response.headers.get("content-type", "").startswith(EVENTS):
            return UpstreamResponse(status, headers, pieces=self._stream_pieces(response))
        body = b"".join([piece async for piece in self._read_bounded(response)])
        if status >= _ERROR_STATUS:
            body = redact_key(body.decode("utf-8", "replace"), self.api_key).encode()
        return UpstreamResponse(status, headers, body)

    async def _read_bounded(self, response: httpx.Response) -> AsyncIterator[bytes]:
        length = 0
        async for piece in self._stream_pieces(response):
            length += len(piece)
            if length > MAX_BODY_BYTES:
                raise unreadable_failure(self._name)
            yield piece

    async def _stream_pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.TimeoutException:
            failure = timeout_failure(self._name, self.timeout_s)
        except httpx.DecodingError:
            failure = unreadable_failure(self._name)
        except httpx.HTTPError:
            failure = incomplete_failure(self._name)
        else:
            return
        raise failure

    def _get_client(self) -> httpx.AsyncClient:
        if self._client is None:
            key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
            mounts: Mapping[str, Any] = proxy_exemptions(self.base_url)
            self._client = httpx.AsyncClient(
                headers={"Accept-Encoding": "identity", "User-Agent": "memolith", **key},
                timeout=httpx.Timeout(
                    self.timeout_s, connect=min(self.timeout_s, CONNECT_TIMEOUT_S)
                ),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
                follow_redirects=False,
                # Do not load certificates for plain HTTP.
                verify=self.base_url.startswith("https:"),
                mounts=mounts,
            )
        return self._client


def redact_key(text: str, key: str) -> str:
    """Return an error message without the API key, which some services repeat."""
    return text.replace(key, REDACTED) if key else text


def filter_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers to pass on to the client."""
    return {
        name: value
        for name, value in headers.items()
        if name.lower() in _FORWARDED_HEADERS or name.lower().startswith(_FORWARDED_PREFIXES)
    }
