"""Connections that threads borrow: so many at most, in the order in which they are asked for."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import psycopg

from memolith.adapters.sql.turns import FairSemaphore

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from psycopg.abc import RV, PQGen
    from psycopg.waiting import Ready, Wait

_MAX_IDLE_S = 300.0
"""After how long a connection that nobody used is closed (a guess)."""

_INTERVAL_S = 0.1
"""How often it is looked whether the wait for an answer is over; psycopg's own interval."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
"""Between attempts to connect: a server that restarts is met soon, and not flooded (a guess)."""


class PoolExhausted(Exception):
    """All connections were lent for as long as one was waited for."""


class PsycopgConnection(psycopg.Connection[Any]):
    """A connection of psycopg that waits for an answer only so long.

    The server gives up a statement by itself; but a server that hangs, or a network that has gone
    silent, says nothing at all.

    Attributes:
        patience_s: For how long nothing may be heard from the server while a statement runs; then
            the connection is closed. None: for ever.
        is_extra: Whether it was lent beyond the number of a pool.
    """

    response_timeout_s: float | None = None
    is_overflow: bool = False

    def wait(self, gen: PQGen[RV], *args: Any, **named: Any) -> RV:
        """See psycopg."""
        if self.response_timeout_s is None:
            return super().wait(gen, *args, **named)
        return super().wait(
            self._enforce_response_timeout(gen, self.response_timeout_s), *args, **named
        )

    def _enforce_response_timeout(
        self, gen: PQGen[RV], response_timeout_s: float
    ) -> Generator[Wait, Ready | int, RV]:
        """Go on with a generator of psycopg's as long as there is news from the server."""
        heard = monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    heard = monotonic()
                elif monotonic() - heard >= response_timeout_s:
                    self.close()
                    raise psycopg.OperationalError(f"no answer for {response_timeout_s:.3g} s")
                state = gen.send(ready)
        except StopIteration as end:
            result: RV = end.value
            return result


class Pool:
    """Lends connections to threads, those used last first, and makes them where there are none.

    Who finds none free waits; who waits longest is served first.
    """

    def __init__(self, connect: Callable[[], PsycopgConnection], size: int) -> None:
        """Take a way to connect, and how many connections there may be at most."""
        self._connect = connect
        self._size = size
        self._semaphore = FairSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[tuple[PsycopgConnection, float]] = []
        self.is_closed = False

    def acquire(self, timeout_s: float, *, allow_overflow: bool = False) -> PsycopgConnection:
        """Lend a connection, which must be given back.

        Args:
            timeout_s: For how long to wait for one.
            extra: Lend one beyond the number of all, if need be, to who can't wait: who has one
                already, which somebody else who has one may be waiting for.

        Raises:
            NoneFree: All are in use for so long.
            psycopg.OperationalError: It was tried to connect for so long.
        """
        until = monotonic() + timeout_s
        has_place = self._semaphore.acquire(0 if allow_overflow else timeout_s)
        if not has_place and not allow_overflow:
            raise PoolExhausted
        with ExitStack() as failing:
            if has_place:
                failing.callback(self._semaphore.release)
            raw = self._pop_idle() or self._connect_with_retry(until)
            raw.is_overflow = not has_place
            failing.pop_all()
        return raw

    def release(self, raw: PsycopgConnection) -> None:
        """Take a connection back, to be lent again if it still can be."""
        now = monotonic()
        is_usable = raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        with self._lock:
            is_kept = is_usable and not self.is_closed and len(self._idle) < self._size
            if is_kept:
                self._idle.append((raw, now))
            old = [each for each, since in self._idle if now - since > _MAX_IDLE_S]
            self._idle = [(each, since) for each, since in self._idle if now - since <= _MAX_IDLE_S]
        if not raw.is_overflow:
            self._semaphore.release()
        for each in old if is_kept else [raw, *old]:
            each.close()

    def close_idle(self) -> None:
        """Close what nobody uses: another connection made as long ago was lost."""
        with self._lock:
            idle, self._idle = self._idle, []
        for raw, _ in idle:
            raw.close()

    def close(self) -> None:
        """Close what is not lent at once, and what is when it is given back."""
        with self._lock:
            self.is_closed = True
        self.close_idle()

    def _pop_idle(self) -> PsycopgConnection | None:
        with self._lock:
            return self._idle.pop()[0] if self._idle else None

    def _connect_with_retry(self, until: float) -> PsycopgConnection:
        """Connect; a server that is not there may be starting."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return self._connect()
            except psycopg.OperationalError:
                if monotonic() + pause_s >= until or self.is_closed:
                    raise
            sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
