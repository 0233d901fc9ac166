"""Whom a chat service asks: any service that speaks OpenAI's protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from memolith.adapters.clients.wire import (
    CONNECT_TIMEOUT_S,
    MAX_BODY_BYTES,
    incomplete_failure,
    proxy_exemptions,
    status_failure,
    timeout_failure,
    unreachable_failure,
    unreadable_failure,
)
from memolith.text.screening import REDACTED

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from memolith.entrypoints.http.proxying.asking import ChatRequest

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
