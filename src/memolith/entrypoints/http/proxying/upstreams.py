"""Whom a chat service asks: any service that speaks OpenAI's protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from memolith.adapters.clients.wire import (
    CONNECT_S,
    MOST_BYTES,
    broken_off,
    failed,
    overdue,
    unproxied,
    unreachable,
    unreadable,
)
from memolith.text.screening import REDACTED

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from memolith.entrypoints.http.proxying.asking import Ask

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

_TOLD: Final = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
_TOLD_LIKE: Final = ("x-ratelimit-", "openai-")
OUR_KEY: Final = frozenset({401, 403})
"""It is not the client's key that was refused: what the service says to it is not theirs to see."""

_FAILED: Final = 400


@dataclass(frozen=True, slots=True)
class Answer:
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

    def chat(self, ask: Ask) -> AbstractAsyncContextManager[Answer]:
        """Ask for a reply; a stream can be read while the context lasts.

        Raises:
            ServiceFailed: There is no answer, or none that is for the client.
        """
        ...

    async def models(self) -> Answer:
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
    async def chat(self, ask: Ask) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        headers = {"Content-Type": JSON, "Accept": EVENTS if ask.is_stream else JSON}
        request = self._opened().build_request(
            "POST", f"{self.base_url}/chat/completions", content=ask.raw, headers=headers
        )
        response = await self._sent(request)
        try:
            yield await self._answer(response)
        finally:
            await response.aclose()

    async def models(self) -> Answer:
        """See `Upstream`."""
        response = await self._sent(self._opened().build_request("GET", f"{self.base_url}/models"))
        try:
            return await self._answer(response)
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

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._opened().send(request, stream=True)
        except httpx.TimeoutException:
            failure = overdue(self._name, self.timeout_s)
        except httpx.HTTPError:
            failure = unreachable(self._name)
        raise failure

    async def _answer(self, response: httpx.Response) -> Answer:
        status = response.status_code
        if status in OUR_KEY or response.is_redirect:
            raise failed(self._name, status, response.headers)
        headers = for_client(response.headers)
        if response.headers.get("content-type", "").startswith(EVENTS):
            return Answer(status, headers, pieces=self._pieces(response))
        body = b"".join([piece async for piece in self._bounded(response)])
        if status >= _FAILED:
            body = without_key(body.decode("utf-8", "replace"), self.api_key).encode()
        return Answer(status, headers, body)

    async def _bounded(self, response: httpx.Response) -> AsyncIterator[bytes]:
        length = 0
        async for piece in self._pieces(response):
            length += len(piece)
            if length > MOST_BYTES:
                raise unreadable(self._name)
            yield piece

    async def _pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.TimeoutException:
            failure = overdue(self._name, self.timeout_s)
        except httpx.DecodingError:
            failure = unreadable(self._name)
        except httpx.HTTPError:
            failure = broken_off(self._name)
        else:
            return
        raise failure

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
            mounts: Mapping[str, Any] = unproxied(self.base_url)
            self._client = httpx.AsyncClient(
                headers={"Accept-Encoding": "identity", "User-Agent": "memolith", **key},
                timeout=httpx.Timeout(self.timeout_s, connect=min(self.timeout_s, CONNECT_S)),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=64),
                follow_redirects=False,
                verify=self.base_url.startswith("https:"),  # else certificates are read for nothing
                mounts=mounts,
            )
        return self._client


def without_key(said: str, key: str) -> str:
    """Return what a service says against a request: some repeat the key that they were shown."""
    return said.replace(key, REDACTED) if key else said


def for_client(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what of a service's headers is for the client."""
    return {
        name: value
        for name, value in headers.items()
        if name.lower() in _TOLD or name.lower().startswith(_TOLD_LIKE)
    }
