"""Anthropic as the service behind a chat service, by its own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from memolith.adapters.chat.anthropic import ANTHROPIC_URL
from memolith.adapters.clients.wire import (
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
    unreachable_failure,
    unreadable_failure,
)
from memolith.adapters.clock import SystemClock
from memolith.entrypoints.http.proxying import translating
from memolith.entrypoints.http.proxying.upstreams import (
    AUTH_STATUSES,
    EVENTS,
    JSON,
    UpstreamResponse,
    filter_headers,
    redact_key,
)
from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    import anthropic

    from memolith.entrypoints.http.proxying.asking import ChatRequest

T = TypeVar("T")

_OK: Final = 200
_ERROR_STATUS: Final = 400
_MODELS_PAGE_SIZE: Final = 1_000


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
        require_package("anthropic", "chat.provider")

    @asynccontextmanager
    async def chat(self, ask: ChatRequest) -> AsyncIterator[UpstreamResponse]:
        """See `Upstream`."""
        wanted = translating.translate_request(ask.body)
        created = int(SystemClock().now().timestamp())
        asking: Any = self._get_client().messages.create
        if not ask.is_stream:
            made = await self._attempt(asking(**wanted))
            yield (
                made
                if isinstance(made, UpstreamResponse)
                else _build_json_response(translating.translate_completion(made, created))
            )
            return
        events = await self._attempt(asking(**wanted, stream=True))
        if isinstance(events, UpstreamResponse):
            yield events
            return
        tells_usage = dig(ask.body, "stream_options", "include_usage") is True
        pieces = self._stream_pieces(events, translating.StreamTranslator(created, tells_usage))
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
            else _build_json_response(translating.translate_models(page.data))
        )

    async def close(self) -> None:
        """See `Upstream`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _attempt(self, call: Awaitable[T]) -> T | UpstreamResponse:
        """Return what the client returns; what the service says against it is an answer too."""
        import anthropic

        try:
            return await call
        except anthropic.APIStatusError as error:
            said = self._translate_status_error(error)
        except self._get_error_types() as error:
            said = self._translate_error(error)
        if isinstance(said, ServiceFailed):  # without theirs, which may hold what was asked
            raise said
        return said

    async def _stream_pieces(
        self, events: AsyncIterator[Any], translated: translating.StreamTranslator
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
        if status < _ERROR_STATUS:  # an error within a stream that began well
            return incomplete_failure(self._name)
        body = redact_key(
            json.dumps(translating.translate_error_body(error.body, status)), self.api_key
        )
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
                max_retries=0,  # the client of ours tries again, and knows how often
                timeout=timeout,
                open_telemetry=False,
                http_client=anthropic.DefaultAsyncHttpxClient(
                    timeout=timeout, follow_redirects=False, mounts=proxy_exemptions(url)
                ),
            )
        return self._client


def _build_json_response(value: Mapping[str, Any]) -> UpstreamResponse:
    return UpstreamResponse(_OK, {"content-type": JSON}, json.dumps(value).encode())
