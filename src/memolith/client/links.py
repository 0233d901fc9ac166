"""The two ways to reach a service: with threads, or from an event loop."""

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

from memolith.adapters.clients.wire import unproxied
from memolith.client.calls import Asking, Call
from memolith.client.service import (
    Conversation,
    Lost,
    Outcome,
    Pausing,
    Reply,
    Sending,
    Service,
)
from memolith.errors import InvalidInput, StoreUnavailable

if TYPE_CHECKING:
    import httpx

CONNECT_S = 5.0
"""How long to wait for a connection at most: a guess; a service is near, or has a proxy near."""

_CONNECTIONS = 64
"""How many calls may be under way: half of what a service takes by default."""

_BYTES = 1 << 16
"""How much of a stream is sent at a time."""

_CHANCE = random.SystemRandom()


class _Link:
    """What both ways have in common."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def conversation(self, owner: str | None) -> Conversation:
        return Conversation(self.service, owner, time.monotonic, _CHANCE.random, _token)

    def options(self) -> dict[str, Any]:
        """Return how a client of `httpx` is opened."""
        import httpx

        return {
            "timeout": httpx.Timeout(self.service.timeout_s, connect=CONNECT_S),
            "limits": httpx.Limits(max_connections=_CONNECTIONS),
            "follow_redirects": False,
            "mounts": unproxied(self.service.url),
        }

    def request(self, sending: Sending, body: Any) -> dict[str, Any]:
        """Return what a client of `httpx` is told to send."""
        import httpx

        return {
            "method": sending.call.method,
            "url": self.service.url + sending.call.path,
            "params": sending.call.query or None,
            "headers": dict(sending.headers),
            "content": body,
            "timeout": httpx.Timeout(sending.timeout_s, connect=CONNECT_S),
        }


class Link(_Link):
    """Reaches a service with threads. Thread-safe."""

    def __init__(self, service: Service, client: httpx.Client | None = None) -> None:
        """Open connections as they are needed; or use a client."""
        import httpx

        super().__init__(service)
        self._client = client or httpx.Client(**self.options())
        weakref.finalize(self, self._client.close)  # a `Memolith` need not be closed either

    def carry_out(self, asking: Asking, owner: str | None = None) -> Any:
        """Return what a method is answered."""
        steps = self.conversation(owner).steps(asking)
        outcome: Outcome = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            outcome = self._done(step)

    def lines(self, call: Call, owner: str) -> Iterator[bytes]:
        """Yield the lines of an answer as they come."""
        sending = Sending(call, self.service.headers(call, owner), self.service.timeout_s)
        try:
            with self._begun(sending) as response:
                if response.is_error:
                    response.read()
                    raise self.service.failure(_reply(response), {})
                yield from _Lines().split(response.iter_bytes())
        except _errors() as error:
            raise self.service.lost(_lost(error, self.service.timeout_s)) from None

    def _begun(self, sending: Sending) -> AbstractContextManager[httpx.Response]:
        client = self._opened()
        with _quietly():
            request = client.build_request(**self.request(sending, None))
            return closing(client.send(request, stream=True))

    def close(self) -> None:
        """Let go of all connections."""
        self._client.close()

    def _done(self, step: Sending | Pausing) -> Outcome:
        if isinstance(step, Pausing):
            time.sleep(step.seconds)
            return None
        client = self._opened()
        started_s = time.monotonic()
        try:
            with _quietly():
                return _reply(client.request(**self.request(step, _content(step.call))))
        except _errors() as error:
            return _lost(error, time.monotonic() - started_s)

    def _opened(self) -> httpx.Client:
        if self._client.is_closed:
            raise _closed()
        return self._client


class AsyncLink(_Link):
    """Reaches a service from an event loop."""

    def __init__(self, service: Service, client: httpx.AsyncClient | None = None) -> None:
        """Open connections as they are needed; or use a client."""
        import httpx

        super().__init__(service)
        self._client = client or httpx.AsyncClient(**self.options())

    async def carry_out(self, asking: Asking, owner: str | None = None) -> Any:
        """Return what a method is answered."""
        steps = self.conversation(owner).steps(asking)
        outcome: Outcome = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                return end.value
            outcome = await self._done(step)

    async def lines(self, call: Call, owner: str) -> AsyncIterator[bytes]:
        """Yield the lines of an answer as they come."""
        sending = Sending(call, self.service.headers(call, owner), self.service.timeout_s)
        cut = _Lines()
        try:
            async with await self._begun(sending) as response:
                if response.is_error:
                    await response.aread()
                    raise self.service.failure(_reply(response), {})
                async for piece in response.aiter_bytes():
                    for line in cut.split([piece], is_end=False):
                        yield line
                for line in cut.split([]):
                    yield line
        except _errors() as error:
            raise self.service.lost(_lost(error, self.service.timeout_s)) from None

    async def _begun(self, sending: Sending) -> AbstractAsyncContextManager[httpx.Response]:
        client = self._opened()
        with _quietly():
            request = client.build_request(**self.request(sending, None))
            return aclosing(await client.send(request, stream=True))

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.aclose()

    async def _done(self, step: Sending | Pausing) -> Outcome:
        if isinstance(step, Pausing):
            await asyncio.sleep(step.seconds)
            return None
        client = self._opened()
        content = _content(step.call)
        body = content if isinstance(content, bytes | None) else _unhurried(content)
        started_s = time.monotonic()
        try:
            with _quietly():
                return _reply(await client.request(**self.request(step, body)))
        except _errors() as error:
            return _lost(error, time.monotonic() - started_s)

    def _opened(self) -> httpx.AsyncClient:
        if self._client.is_closed:
            raise _closed()
        return self._client


class _Lines:
    """Puts pieces of a stream together to lines, each with its end."""

    def __init__(self) -> None:
        self._rest = b""

    def split(self, pieces: Any, *, is_end: bool = True) -> Iterator[bytes]:
        for piece in pieces:
            *lines, self._rest = (self._rest + piece).split(b"\n")
            yield from lines
        if is_end and self._rest:
            yield self._rest


_IS_OURS: ContextVar[bool] = ContextVar("memolith_client_call", default=False)


def _not_ours(_: logging.LogRecord) -> bool:
    return not _IS_OURS.get()


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep out of logs what the library of HTTP notes: addresses name sessions and keys."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).addFilter(_not_ours)  # the same one is added once
    ours = _IS_OURS.set(True)
    try:
        yield
    finally:
        _IS_OURS.reset(ours)


def _token() -> str:
    return secrets.token_hex(16)


def _closed() -> StoreUnavailable:
    return StoreUnavailable("the client is closed")


def _content(call: Call) -> Any:
    """Return the body of a call: bytes, an iterator of pieces, or none.

    Raises:
        InvalidInput: A text of it is none.
    """
    if callable(call.body):
        return _joined(call.body())
    if call.body is None:
        return None
    try:
        return msgspec.json.encode(call.body)
    except (UnicodeEncodeError, OverflowError, RecursionError):
        raise InvalidInput("request", "holds what can't be sent: a lone surrogate, say") from None


def _joined(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines, several at a time."""
    gathered = bytearray()
    for line in lines:
        gathered += line
        if len(gathered) >= _BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


async def _unhurried(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


def _reply(response: httpx.Response) -> Reply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, response.content)


def _errors() -> tuple[type[Exception], ...]:
    import httpx

    return (httpx.RequestError, httpx.StreamError)


def _lost(error: Exception, waited_s: float) -> Lost:
    """Return what became of a request that was not answered, in words that hold nothing of it."""
    import httpx

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return Lost("can't be reached", is_unsent=True, waited_s=waited_s)
    if isinstance(error, httpx.TimeoutException):
        return Lost("gave no answer in time", is_overdue=True, waited_s=waited_s)
    if isinstance(error, httpx.TransportError):
        return Lost("broke off the connection", waited_s=waited_s)
    return Lost(f"gave an answer that can't be read ({type(error).__name__})", is_overdue=True)
