"""What a client asks a chat service, and the same with what is remembered."""

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
        body: All of it.
        messages: The conversation in it.
        raw: The bytes that say so.
    """

    body: Mapping[str, Any]
    messages: tuple[ChatEntry, ...]
    raw: bytes

    @property
    def user(self) -> str | None:
        """For whom it says to be asked."""
        user = self.body.get("user")
        return user if isinstance(user, str) else None

    @property
    def model(self) -> str:
        """The model that it names; empty: none."""
        model = self.body.get("model")
        return model if isinstance(model, str) else ""

    @property
    def is_stream(self) -> bool:
        """Whether the reply is to come in pieces."""
        return self.body.get("stream") is True

    @property
    def has_single_choice(self) -> bool:
        """Whether one reply is asked for, not several to choose from."""
        return self.body.get("n") in (None, 1)

    def with_model(self, model: str) -> ChatRequest:
        """Return the same of another model, named once.

        Some services read `Model` too, and of two names the one or the other.
        """
        rest = {name: value for name, value in self.body.items() if name.casefold() != "model"}
        return self._with_body({**rest, "model": model})

    def with_messages(self, messages: Sequence[ChatEntry]) -> ChatRequest:
        """Return the same with other messages."""
        if len(messages) == len(self.messages) and all(map(_is_same, messages, self.messages)):
            return self
        return self._with_body({**self.body, "messages": list(messages)})

    def _with_body(self, body: Mapping[str, Any]) -> ChatRequest:
        raw = json.dumps(body, separators=(",", ":")).encode()
        return replace(self, body=body, messages=tuple(body["messages"]), raw=raw)


def parse_chat_request(raw: bytes) -> ChatRequest:
    """Return what a body asks.

    Raises:
        Problem: It is no such request.
    """
    try:
        body = json.loads(raw, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is no JSON, or nested too deep") from None
    if not isinstance(body, dict):
        raise Problem(422, "the body must be an object")
    if is_too_deep(body):
        raise Problem(400, "the body is nested too deep")
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
    """Return messages whose first instruction says a text too; one is made where there is none."""
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
    return Problem(
        422, "the request can't be taken", errors=[FieldError(field=field, problem=problem)]
    )


def _is_same(one: object, other: object) -> bool:
    return one is other


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


# --- What a model replied, heard along the way: its words, and whether it came to its end


_DATA_PREFIX: Final = b"data:"

_MAX_EVENT_BYTES: Final = 1 << 22
"""The longest event of a stream that is looked into: a guess, far over what any model sends."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A reply.

    Attributes:
        text: Its words; empty where it has none, or there are several to choose from.
        is_whole: Whether it came to its end.
    """

    text: str = ""
    is_complete: bool = False


def parse_reply(body: bytes) -> ModelReply:
    """Return the reply in a body that came in one piece."""
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
    """Hears the events of a stream. What is not told to the end of its line is not heard.

    Attributes:
        is_done: Whether the stream has said that nothing more comes.
    """

    is_done: bool = False
    _buffer: bytes = b""
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0
    _finish_reason: Any = None
    _is_single_choice: bool = True
    _is_unreadable: bool = False

    def feed(self, piece: bytes) -> None:
        """Take in the next bytes, wherever they are cut."""
        if self._is_unreadable:
            return
        *lines, self._buffer = (self._buffer + piece).split(b"\n")
        for line in lines:
            if line.startswith(_DATA_PREFIX):
                self._handle_event(line.removeprefix(_DATA_PREFIX))
        self._is_unreadable |= len(self._buffer) > _MAX_EVENT_BYTES

    def reply(self) -> ModelReply:
        """Return what was heard so far."""
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
            self._is_unreadable = True  # who knows what it said
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


# --- Whom a chat service asks: any service that speaks OpenAI's protocol


JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_FORWARDED_HEADERS: Final = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
_FORWARDED_PREFIXES: Final = ("x-ratelimit-", "openai-")
AUTH_STATUSES: Final = frozenset({401, 403})
"""It is not the client's key that was refused: what the service says to it is not theirs to see."""

_ERROR_STATUS: Final = 400


@dataclass(frozen=True, slots=True)
class UpstreamResponse:
    """What a service answers.

    Attributes:
        status: Of HTTP.
        headers: What of its headers is for the client.
        body: All of it, of an answer in one piece.
        pieces: Of a stream, as they come; they raise `ServiceFailed` where it breaks off.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    pieces: AsyncIterator[bytes] | None = None


class Upstream(Protocol):
    """A service with a language model.

    Attributes:
        model: The one that is asked where a client names none.
    """

    model: str

    def chat(self, ask: ChatRequest) -> AbstractAsyncContextManager[UpstreamResponse]:
        """Ask for a reply; a stream can be read while the context lasts.

        Raises:
            ServiceFailed: There is no answer, or none that is for the client.
        """
        ...

    async def models(self) -> UpstreamResponse:
        """Return its list of models, in OpenAI's form.

        Raises:
            ServiceFailed: There is none.
        """
        ...

    async def close(self) -> None:
        """End the connections."""
        ...


@dataclass(slots=True)
class OpenAIUpstream:
    """A service that speaks OpenAI's protocol. What it is sent and what it says is not changed."""

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
                verify=self.base_url.startswith("https:"),  # else certificates are read for nothing
                mounts=mounts,
            )
        return self._client


def redact_key(text: str, key: str) -> str:
    """Return what a service says against a request: some repeat the key that they were shown."""
    return text.replace(key, REDACTED) if key else text


def filter_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what of a service's headers is for the client."""
    return {
        name: value
        for name, value in headers.items()
        if name.lower() in _FORWARDED_HEADERS or name.lower().startswith(_FORWARDED_PREFIXES)
    }
