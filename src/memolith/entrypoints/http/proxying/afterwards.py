"""What is done after a reply was sent: each owner's in its order, and none lost at the end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from memolith.errors import ServiceFailed, StoreUnavailable

Job = Callable[[], None]

WAITS_S: Final = (0.5, 2.0, 8.0)
"""After how many seconds what failed is tried again, where it may pass: guesses."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that is to be done.

    Attributes:
        begin: Begins it; again does no harm.
        tried: Is done when it was tried once: what failed is tried again without anybody waiting.
    """

    begin: Callable[[], None] = lambda: None
    tried: Future[None] = field(default_factory=Future)


class Afterwards:
    """Does things in the background, those of one owner one after the other. Thread-safe."""

    def __init__(
        self,
        failed: Callable[[BaseException], None],
        *,
        threads: int = 4,
        most: int = 10_000,
        waits_s: tuple[float, ...] = WAITS_S,
        told: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Do nothing yet.

        Args:
            failed: Told of what was given up.
            threads: How many owners have something done at once.
            most: How many things may wait; what comes beyond is given up.
            waits_s: See `WAITS_S`.
            told: Called with how many more, or less, wait.
        """
        self._failed = failed
        self._waits_s = waits_s
        self._told = told
        self._most = most
        self._waiting: dict[str, deque[tuple[Job, Future[None]]]] = {}
        self._busy: set[str] = set()
        self._changed = threading.Condition()
        self._ending = threading.Event()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memolith-afterwards")

    def put(self, owner_id: str, job: Job) -> Noted:
        """Note what is to be done for an owner.

        From now on it is waited for. It is done after what was noted before; with that, it may
        begin by itself.
        """
        with self._changed:
            if sum(map(len, self._waiting.values())) >= self._most:
                self._failed(StoreUnavailable("too much waits to be learned"))
                return nothing()
            noted = Noted(partial(self._begin, owner_id))
            self._waiting.setdefault(owner_id, deque()).append((job, noted.tried))
            self._told(1)
        return noted

    def wait(self, owner_id: str, timeout_s: float) -> bool:
        """Wait until nothing of an owner's is left to do, at most so long; return whether."""
        with self._changed:
            return self._changed.wait_for(lambda: owner_id not in self._waiting, timeout_s)

    def drain(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing is left to do, at most so long; return whether.

        What failed is tried again at once, and not after a while.
        """
        self._ending.set()
        with self._changed:
            for owner_id in self._waiting:
                self._begin(owner_id)
            return self._changed.wait_for(lambda: not self._waiting, timeout_s)

    def close(self) -> None:
        """End; what is left is given up."""
        self._ending.set()
        with self._changed:
            for jobs in self._waiting.values():
                self._told(-len(jobs))
                jobs.clear()
        self._pool.shutdown(wait=False)

    def _begin(self, owner_id: str) -> None:
        with self._changed:
            if owner_id in self._waiting and owner_id not in self._busy:
                self._busy.add(owner_id)
                self._pool.submit(self._work, owner_id)

    def _work(self, owner_id: str) -> None:
        while True:
            with self._changed:
                jobs = self._waiting[owner_id]
                if not jobs:
                    del self._waiting[owner_id]
                    self._busy.discard(owner_id)
                    self._changed.notify_all()
                    return
            self._do(*jobs[0])
            with self._changed:
                if jobs:
                    jobs.popleft()
                    self._told(-1)

    def _do(self, job: Job, tried: Future[None]) -> None:
        for wait_s in (*self._waits_s, None):
            is_over = self._try(job, is_last=wait_s is None)
            if not tried.done():
                tried.set_result(None)
            if is_over:
                return
            self._ending.wait(wait_s)

    def _try(self, job: Job, *, is_last: bool) -> bool:
        """Do something; return whether it is over: done, or given up."""
        try:
            job()
        except (ServiceFailed, StoreUnavailable) as error:
            if not is_last and (not isinstance(error, ServiceFailed) or error.retryable):
                return False
            self._failed(error)
        except Exception as error:  # noqa: BLE001 - the loop goes on, whatever one of them does
            self._failed(error)
        return True


def nothing() -> Noted:
    """Return that nothing is to be done."""
    noted = Noted()
    noted.tried.set_result(None)
    return noted
