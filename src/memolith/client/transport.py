"""HTTP transports of the client: synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    closing,
    contextmanager,
)
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec

from memolith.adapters.models.http import proxy_exemptions
from memolith.client.protocol import (
    AttemptResult,
    Call,
    CallRunner,
    CallSequence,
    RequestAttempt,
    RequestFailure,
    Response,
    RetryPause,
    ServiceConnection,
)
from memolith.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT_S = 5.0
"""Connection timeout. A guess: a server, or its proxy, is near."""

_MAX_CONNECTIONS = 64
"""Maximum number of concurrent calls: half of the server's default limit."""

_UPLOAD_CHUNK_BYTES = 1 << 16
"""Size of the chunks of a streamed request body."""

_RANDOM = random.SystemRandom()


class _TransportBase:
    """Shared parts of both transports."""

    def __init__(self, service: ServiceConnection) -> None:
        self.service = service

    def new_runner(self, owner: str | None) -> CallRunner:
        return CallRunner(self.service, owner, time.monotonic, _RANDOM.random, _new_token)

    def client_options(self) -> dict[str, Any]:
        """Return the arguments of an `httpx` client."""
        import httpx

        return {
            "timeout": httpx.Timeout(self.service.timeout_s, connect=CONNECT_TIMEOUT_S),
            "limits": httpx.Limits(max_connections=_MAX_CONNECTIONS),
            "follow_redirects": False,
            "mounts": proxy_exemptions(self.service.url),
        }

    def request_options(self, attempt: RequestAttempt, body: Any) -> dict[str, Any]:
        """Return the arguments of an `httpx` request."""
        import httpx

        return {
            "method": attempt.call.method,
            "url": self.service.url + attempt.call.path,
            "params": attempt.call.query or None,
            "headers": dict(attempt.headers),
            "content": body,
            "timeout": httpx.Timeout(attempt.timeout_s, connect=CONNECT_TIMEOUT_S),
        }


class Transport(_TransportBase):
    """Synchronous transport. Thread-safe."""

    def __init__(self, service: ServiceConnection, client: httpx.Client | None = None) -> None:
        """Use an `httpx` client, or create one."""
        import httpx

        super().__init__(service)
        self._client = client or httpx.Client(**self.client_options())
        weakref.finalize(self, self._client.close)  # closing a `Memolith` is optional

    def execute(self, calls: CallSequence, owner: str | None = None) -> Any:
        """Run a method and return its result."""
        steps = self.new_runner(owner).run(calls)
        outcome: AttemptResult = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            outcome = self._perform(step)

    def stream_lines(self, call: Call, owner: str) -> Iterator[bytes]:
        """Yield the lines of a response as they arrive."""
        sending = RequestAttempt(
            call, self.service.build_headers(call, owner), self.service.timeout_s
        )
        try:
            with self._open_stream(sending) as response:
                if response.is_error:
                    response.read()
                    raise self.service.build_error(_read_response(response), {})
                yield from _LineSplitter().split(response.iter_bytes())
        except _get_http_errors() as error:
            raise self.service.build_connection_error(
                _classify_failure(error, self.service.timeout_s)
            ) from None

    def _open_stream(self, attempt: RequestAttempt) -> AbstractContextManager[httpx.Response]:
        client = self._get_client()
        with _silence_http_logs():
            request = client.build_request(**self.request_options(attempt, None))
            return closing(client.send(request, stream=True))

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _perform(self, step: RequestAttempt | RetryPause) -> AttemptResult:
        if isinstance(step, RetryPause):
            time.sleep(step.seconds)
            return None
        client = self._get_client()
        started_s = time.monotonic()
        try:
            with _silence_http_logs():
                return _read_response(
                    client.request(**self.request_options(step, _encode_body(step.call)))
                )
        except _get_http_errors() as error:
            return _classify_failure(error, time.monotonic() - started_s)

    def _get_client(self) -> httpx.Client:
        if self._client.is_closed:
            raise _build_closed_error()
        return self._client


class AsyncTransport(_TransportBase):
    """Transport for event loops."""

    def __init__(self, service: ServiceConnection, client: httpx.AsyncClient | None = None) -> None:
        """Use an `httpx` client, or create one."""
        import httpx

        super().__init__(service)
        self._client = client or httpx.AsyncClient(**self.client_options())

    async def execute(self, calls: CallSequence, owner: str | None = None) -> Any:
        """Run a method and return its result."""
        steps = self.new_runner(owner).run(calls)
        outcome: AttemptResult = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            outcome = await self._perform(step)

    async def stream_lines(self, call: Call, owner: str) -> AsyncIterator[bytes]:
        """Yield the lines of a response as they arrive."""
        sending = RequestAttempt(
            call, self.service.build_headers(call, owner), self.service.timeout_s
        )
        cut = _LineSplitter()
        try:
            async with await self._open_stream(sending) as response:
                if response.is_error:
                    await response.aread()
                    raise self.service.build_error(_read_response(response), {})
                async for piece in response.aiter_bytes():
                    for line in cut.split([piece], is_end=False):
                        yield line
                for line in cut.split([]):
                    yield line
        except _get_http_errors() as error:
            raise self.service.build_connection_error(
                _classify_failure(error, self.service.timeout_s)
            ) from None

    async def _open_stream(
        self, attempt: RequestAttempt
    ) -> AbstractAsyncContextManager[httpx.Response]:
        client = self._get_client()
        with _silence_http_logs():
            request = client.build_request(**self.request_options(attempt, None))
            return aclosing(await client.send(request, stream=True))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _perform(self, step: RequestAttempt | RetryPause) -> AttemptResult:
        if isinstance(step, RetryPause):
            await asyncio.sleep(step.seconds)
            return None
        client = self._get_client()
        content = _encode_body(step.call)
        body = content if isinstance(content, bytes | None) else _iterate_async(content)
        started_s = time.monotonic()
        try:
            with _silence_http_logs():
                return _read_response(await client.request(**self.request_options(step, body)))
        except _get_http_errors() as error:
            return _classify_failure(error, time.monotonic() - started_s)

    def _get_client(self) -> httpx.AsyncClient:
        if self._client.is_closed:
            raise _build_closed_error()
        return self._client


class _LineSplitter:
    """Joins the chunks of a stream and splits it into lines."""

    def __init__(self) -> None:
        self._buffer = b""

    def split(self, pieces: Any, *, is_end: bool = True) -> Iterator[bytes]:
        for piece in pieces:
            *lines, self._buffer = (self._buffer + piece).split(b"\n")
            yield from lines
        if is_end and self._buffer:
            yield self._buffer


_IS_CLIENT_CALL: ContextVar[bool] = ContextVar("memolith_client_call", default=False)


def _is_outside_client_call(_: logging.LogRecord) -> bool:
    return not _IS_CLIENT_CALL.get()


@contextmanager
def _silence_http_logs() -> Iterator[None]:
    """Suppress the HTTP library's logs of URLs, which contain session names and memory keys."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).addFilter(_is_outside_client_call)  # a filter is added only once
    ours = _IS_CLIENT_CALL.set(True)
    try:
        yield
    finally:
        _IS_CLIENT_CALL.reset(ours)


def _new_token() -> str:
    return secrets.token_hex(16)


def _build_closed_error() -> StoreUnavailable:
    return StoreUnavailable("the client is closed")


def _encode_body(call: Call) -> Any:
    """Return the request body: bytes, an iterator of bytes, or None.

    Raises:
        InvalidInput: The body cannot be encoded.
    """
    if callable(call.body):
        return _batch_lines(call.body())
    if call.body is None:
        return None
    try:
        return msgspec.json.encode(call.body)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        raise InvalidInput(
            "request", "cannot be encoded, for example because of a lone surrogate"
        ) from None


def _batch_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines, joined into chunks."""
    gathered = bytearray()
    for line in lines:
        gathered += line
        if len(gathered) >= _UPLOAD_CHUNK_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


async def _iterate_async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


def _read_response(response: httpx.Response) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, response.content)


def _get_http_errors() -> tuple[type[Exception], ...]:
    import httpx

    return (httpx.RequestError, httpx.StreamError)


def _classify_failure(error: Exception, waited_s: float) -> RequestFailure:
    """Return the failure that an `httpx` error reports, without content of the request."""
    import httpx

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return RequestFailure("cannot be reached", is_unsent=True, waited_s=waited_s)
    if isinstance(error, httpx.TimeoutException):
        return RequestFailure("did not respond in time", is_timeout=True, waited_s=waited_s)
    if isinstance(error, httpx.TransportError):
        return RequestFailure("closed the connection", waited_s=waited_s)
    return RequestFailure(f"sent an invalid response ({type(error).__name__})", is_timeout=True)
