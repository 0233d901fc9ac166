"""Calls that may take only so long: what is slower goes on, and nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from memolith.errors import ServiceFailed, StoreUnavailable

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


# --- What is done after a reply was sent: each owner's in its order, and none lost at the end


Job = Callable[[], None]

RETRY_DELAYS_S: Final = (0.5, 2.0, 8.0)
"""After how many seconds what failed is tried again, where it may pass: guesses."""


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """Something that is to be done.

    Attributes:
        begin: Begins it; again does no harm.
        tried: Is done when it was tried once: what failed is tried again without anybody waiting.
    """

    start: Callable[[], None] = lambda: None
    first_attempt: Future[None] = field(default_factory=Future)


class BackgroundQueue:
    """Does things in the background, those of one owner one after the other. Thread-safe."""

    def __init__(
        self,
        on_failure: Callable[[BaseException], None],
        *,
        threads: int = 4,
        max_pending: int = 10_000,
        retry_delays_s: tuple[float, ...] = RETRY_DELAYS_S,
        on_pending_change: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Do nothing yet.

        Args:
            failed: Told of what was given up.
            threads: How many owners have something done at once.
            most: How many things may wait; what comes beyond is given up.
            waits_s: See `WAITS_S`.
            told: Called with how many more, or less, wait.
        """
        self._on_failure = on_failure
        self._retry_delays_s = retry_delays_s
        self._on_pending_change = on_pending_change
        self._max_pending = max_pending
        self._pending: dict[str, deque[tuple[Job, Future[None]]]] = {}
        self._busy: set[str] = set()
        self._changed = threading.Condition()
        self._ending = threading.Event()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memolith-afterwards")

    def submit(self, owner_id: str, job: Job) -> BackgroundTask:
        """Note what is to be done for an owner.

        From now on it is waited for. It is done after what was noted before; with that, it may
        begin by itself.
        """
        with self._changed:
            if sum(map(len, self._pending.values())) >= self._max_pending:
                self._on_failure(StoreUnavailable("too much waits to be learned"))
                return completed_task()
            noted = BackgroundTask(partial(self._start, owner_id))
            self._pending.setdefault(owner_id, deque()).append((job, noted.first_attempt))
            self._on_pending_change(1)
        return noted

    def wait(self, owner_id: str, timeout_s: float) -> bool:
        """Wait until nothing of an owner's is left to do, at most so long; return whether."""
        with self._changed:
            return self._changed.wait_for(lambda: owner_id not in self._pending, timeout_s)

    def drain(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing is left to do, at most so long; return whether.

        What failed is tried again at once, and not after a while.
        """
        self._ending.set()
        with self._changed:
            for owner_id in self._pending:
                self._start(owner_id)
            return self._changed.wait_for(lambda: not self._pending, timeout_s)

    def close(self) -> None:
        """End; what is left is given up."""
        self._ending.set()
        with self._changed:
            for jobs in self._pending.values():
                self._on_pending_change(-len(jobs))
                jobs.clear()
        self._pool.shutdown(wait=False)

    def _start(self, owner_id: str) -> None:
        with self._changed:
            if owner_id in self._pending and owner_id not in self._busy:
                self._busy.add(owner_id)
                self._pool.submit(self._run_owner_jobs, owner_id)

    def _run_owner_jobs(self, owner_id: str) -> None:
        while True:
            with self._changed:
                jobs = self._pending[owner_id]
                if not jobs:
                    del self._pending[owner_id]
                    self._busy.discard(owner_id)
                    self._changed.notify_all()
                    return
            self._run_job(*jobs[0])
            with self._changed:
                if jobs:
                    jobs.popleft()
                    self._on_pending_change(-1)

    def _run_job(self, job: Job, first_attempt: Future[None]) -> None:
        for wait_s in (*self._retry_delays_s, None):
            is_over = self._attempt(job, is_last=wait_s is None)
            if not first_attempt.done():
                first_attempt.set_result(None)
            if is_over:
                return
            self._ending.wait(wait_s)

    def _attempt(self, job: Job, *, is_last: bool) -> bool:
        """Do something; return whether it is over: done, or given up."""
        try:
            job()
        except (ServiceFailed, StoreUnavailable) as error:
            if not is_last and (not isinstance(error, ServiceFailed) or error.retryable):
                return False
            self._on_failure(error)
        except Exception as error:  # noqa: BLE001 - the loop goes on, whatever one of them does
            self._on_failure(error)
        return True


def completed_task() -> BackgroundTask:
    """Return that nothing is to be done."""
    noted = BackgroundTask()
    noted.first_attempt.set_result(None)
    return noted
