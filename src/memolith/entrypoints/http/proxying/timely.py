"""Calls that may take only so long: what is slower goes on, and nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, TypeVar

T = TypeVar("T")

SLOW: Final = "slow"
BUSY: Final = "busy"

_QUEUE_FACTOR: Final = 4
"""How many calls may be under way or wait, by how many are made at once: those at the end of a
longer queue would hardly have their turn in time. A guess."""


class DeadlinePool:
    """Makes calls in threads of its own, from one event loop."""

    def __init__(self, name: str, *, threads: int, timeout_s: float) -> None:
        """Make at most so many at once, and wait so long for each."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._max_calls = _QUEUE_FACTOR * threads
        self._timeout_s = timeout_s
        self._active: set[asyncio.Future[Any]] = set()

    @property
    def active_calls(self) -> int:
        """How many calls are being made, or wait for it."""
        return len(self._active)

    async def call(self, make: Callable[[], T]) -> T:
        """Return what a call returns.

        Raises:
            TooLate: It is too slow, or too many others are under way; then it is not made.
            Exception: What it raises.
        """
        if len(self._active) >= self._max_calls:
            raise DeadlineExceeded(BUSY)
        future = asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, make)
        self._active.add(future)
        future.add_done_callback(self._discard)
        done, _ = await asyncio.wait([future], timeout=self._timeout_s)
        if not done:
            raise DeadlineExceeded(SLOW)
        return future.result()

    def close(self) -> None:
        """Make no more calls."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _discard(self, future: asyncio.Future[Any]) -> None:
        self._active.discard(future)
        if not future.cancelled():
            future.exception()  # it was told, or came too late to matter


class DeadlineExceeded(Exception):
    """Nobody waits for a call any more.

    Attributes:
        kind: Why: it is slow, or too many others are under way.
    """

    def __init__(self, kind: str) -> None:
        """Say why."""
        super().__init__(kind)
        self.kind = kind
