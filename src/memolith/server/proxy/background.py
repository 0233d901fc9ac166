"""Calls with a deadline, and background tasks in order per owner."""

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
"""Maximum number of running and waiting calls per thread. A guess: later calls would miss their
deadline.
"""


class DeadlinePool:
    """Runs calls with a deadline on its own threads, for one event loop.

    A call that misses its deadline continues, but its result is dropped.
    """

    def __init__(self, name: str, *, threads: int, timeout_s: float) -> None:
        """Create the pool with a number of threads and a deadline for each call."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._max_calls = _QUEUE_FACTOR * threads
        self._timeout_s = timeout_s
        self._active: set[asyncio.Future[Any]] = set()

    @property
    def active_calls(self) -> int:
        """Return the number of running and waiting calls."""
        return len(self._active)

    async def call(self, make: Callable[[], T]) -> T:
        """Return the result of a call.

        Raises:
            DeadlineExceeded: The call is too slow, or too many are running; in that case it is not
                made.
            Exception: Whatever the call raises.
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
        """Stop accepting calls."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _discard(self, future: asyncio.Future[Any]) -> None:
        self._active.discard(future)
        if not future.cancelled():
            future.exception()  # retrieve it: it was reported, or nobody waits any more


class DeadlineExceeded(Exception):
    """A call missed its deadline.

    Attributes:
        kind: The reason: the call is slow, or too many others are running.
    """

    def __init__(self, kind: str) -> None:
        """Create the error with its reason."""
        super().__init__(kind)
        self.kind = kind


# --- Background tasks


Job = Callable[[], None]

RETRY_DELAYS_S: Final = (0.5, 2.0, 8.0)
"""Delays before the retries of a failed task. Guesses."""


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """A task and its state.

    Attributes:
        start: Starts the task; further calls have no effect.
        first_attempt: Completed after the first attempt; retries run without anybody waiting.
    """

    start: Callable[[], None] = lambda: None
    first_attempt: Future[None] = field(default_factory=Future)


class BackgroundQueue:
    """Runs tasks in the background, those of one owner in order. Thread-safe."""

    def __init__(
        self,
        on_failure: Callable[[BaseException], None],
        *,
        threads: int = 4,
        max_pending: int = 10_000,
        retry_delays_s: tuple[float, ...] = RETRY_DELAYS_S,
        on_pending_change: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Create the queue; threads start with the first task.

        Args:
            on_failure: Called with the error of a task that is given up.
            threads: Number of owners whose tasks run at once.
            max_pending: Maximum number of waiting tasks; further ones are given up.
            retry_delays_s: See `RETRY_DELAYS_S`.
            on_pending_change: Called with the change of the number of waiting tasks.
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
        """Add a task of an owner.

        From now on `wait` waits for it. It runs after the owner's earlier tasks. Running those may
        start it before `start` is called.
        """
        with self._changed:
            if sum(map(len, self._pending.values())) >= self._max_pending:
                self._on_failure(StoreUnavailable("too many exchanges are waiting to be stored"))
                return completed_task()
            noted = BackgroundTask(partial(self._start, owner_id))
            self._pending.setdefault(owner_id, deque()).append((job, noted.first_attempt))
            self._on_pending_change(1)
        return noted

    def wait(self, owner_id: str, timeout_s: float) -> bool:
        """Wait up to a timeout until an owner has no tasks left; return whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: owner_id not in self._pending, timeout_s)

    def drain(self, timeout_s: float | None = None) -> bool:
        """Wait up to a timeout until no tasks are left; return whether that is so.

        Failed tasks are retried at once.
        """
        self._ending.set()
        with self._changed:
            for owner_id in self._pending:
                self._start(owner_id)
            return self._changed.wait_for(lambda: not self._pending, timeout_s)

    def close(self) -> None:
        """Stop; remaining tasks are given up."""
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
        """Run a task; return whether it is finished: done or given up."""
        try:
            job()
        except (ServiceFailed, StoreUnavailable) as error:
            if not is_last and (not isinstance(error, ServiceFailed) or error.retryable):
                return False
            self._on_failure(error)
        except Exception as error:  # noqa: BLE001 - the loop must survive any task
            self._on_failure(error)
        return True


def completed_task() -> BackgroundTask:
    """Return a task that is already done."""
    noted = BackgroundTask()
    noted.first_attempt.set_result(None)
    return noted
