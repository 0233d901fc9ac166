"""Anthropic as the service behind a chat service, by its own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memolith.adapters.chat.anthropic import URL
from memolith.adapters.clients.wire import (
    CONNECT_S,
    UNREADABLE,
    broken_off,
    dig,
    failed,
    http_library,
    keep_quiet,
    need,
    overdue,
    unproxied,
    unreachable,
    unreadable,
)
from memolith.adapters.clock import SystemClock
from memolith.entrypoints.http.proxying import translating
from memolith.entrypoints.http.proxying.upstreams import (
    EVENTS,
    JSON,
    OUR_KEY,
    Answer,
    for_client,
    without_key,
)
from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    import anthropic

    from memolith.entrypoints.http.proxying.asking import Ask

T = TypeVar("T")

_OK: Final = 200
_FAILED: Final = 400
_PAGE: Final = 1_000


@dataclass(slots=True)
class AnthropicUpstream:
    """Anthropic, that is asked and answers in OpenAI's protocol."""

    model: str
    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float = 60.0
    _client: anthropic.AsyncAnthropic | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Check that the client is there.

        Raises:
            InvalidConfiguration: It is not installed.
        """
        need("anthropic", "chat.provider")

    @asynccontextmanager
    async def chat(self, ask: Ask) -> AsyncIterator[Answer]:
        """See `Upstream`."""
        wanted = translating.request(ask.body)
        created = int(SystemClock().now().timestamp())
        asking: Any = self._opened().messages.create
        if not ask.is_stream:
            made = await self._attempt(asking(**wanted))
            yield made if isinstance(made, Answer) else _json(translating.completion(made, created))
            return
        events = await self._attempt(asking(**wanted, stream=True))
        if isinstance(events, Answer):
            yield events
            return
        tells_usage = dig(ask.body, "stream_options", "include_usage") is True
        pieces = self._pieces(events, translating.Translating(created, tells_usage))
        try:
            yield Answer(_OK, {"content-type": EVENTS}, pieces=pieces)
        finally:
            await events.close()

    async def models(self) -> Answer:
        """See `Upstream`."""
        page = await self._attempt(self._opened().models.list(limit=_PAGE))
        return page if isinstance(page, Answer) else _json(translating.models(page.data))

    async def close(self) -> None:
        """See `Upstream`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _attempt(self, call: Awaitable[T]) -> T | Answer:
        """Return what the client returns; what the service says against it is an answer too."""
        import anthropic

        try:
            return await call
        except anthropic.APIStatusError as error:
            said = self._said(error)
        except self._failures() as error:
            said = self._told(error)
        if isinstance(said, ServiceFailed):  # without theirs, which may hold what was asked
            raise said
        return said

    async def _pieces(
        self, events: AsyncIterator[Any], translated: translating.Translating
    ) -> AsyncIterator[bytes]:
        try:
            async for event in events:
                for piece in translated.event(event):
                    yield piece
        except self._failures() as error:
            failure = self._told(error)
        else:
            return
        raise failure

    def _said(self, error: anthropic.APIStatusError) -> Answer | ServiceFailed:
        status = error.status_code
        if status in OUR_KEY:
            return failed(self._name, status, error.response.headers)
        if status < _FAILED:  # an error within a stream that began well
            return broken_off(self._name)
        body = without_key(json.dumps(translating.problem(error.body, status)), self.api_key)
        headers = {**for_client(error.response.headers), "content-type": JSON}
        return Answer(status, headers, body.encode())

    def _told(self, error: Exception) -> ServiceFailed:
        import anthropic

        httpx = http_library(anthropic.DefaultAsyncHttpxClient)
        if isinstance(error, anthropic.APITimeoutError | httpx.TimeoutException):
            return overdue(self._name, self.timeout_s)
        if isinstance(error, anthropic.APIConnectionError | httpx.HTTPError):
            return unreachable(self._name)
        return (broken_off if isinstance(error, anthropic.APIError) else unreadable)(self._name)

    def _failures(self) -> tuple[type[Exception], ...]:
        import anthropic

        httpx = http_library(anthropic.DefaultAsyncHttpxClient)
        return (anthropic.AnthropicError, httpx.HTTPError, *UNREADABLE)

    @property
    def _name(self) -> str:
        return f"anthropic:{self.model}"

    def _opened(self) -> anthropic.AsyncAnthropic:
        if self._client is None:
            import anthropic

            keep_quiet("anthropic", "anthropic._base_client")
            httpx = http_library(anthropic.DefaultAsyncHttpxClient)
            url = self.base_url or URL
            timeout = httpx.Timeout(self.timeout_s, connect=min(self.timeout_s, CONNECT_S))
            self._client = anthropic.AsyncAnthropic(
                api_key=self.api_key,
                base_url=url,
                max_retries=0,  # the client of ours tries again, and knows how often
                timeout=timeout,
                open_telemetry=False,
                http_client=anthropic.DefaultAsyncHttpxClient(
                    timeout=timeout, follow_redirects=False, mounts=unproxied(url)
                ),
            )
        return self._client


def _json(value: Mapping[str, Any]) -> Answer:
    return Answer(_OK, {"content-type": JSON}, json.dumps(value).encode())
