"""Runs learning and maintenance in the background of a process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from memolith.errors import MemolithError, StoreReadOnly
from memolith.services.schedule import JobResult

if TYPE_CHECKING:
    from memolith.services.work import WorkResult

POLL_S = 20.0
"""Seconds between checks for work that caused no wake-up: from other processes, or retries."""

DRAIN_S = 10.0
"""Seconds to wait on close for model calls in progress. A guess."""

_log = logging.getLogger(__name__)


class BackgroundWorker:
    """Runs pending work in its own thread, on wake-up and at intervals. Thread-safe."""

    def __init__(
        self,
        run_due: Callable[[Callable[[], bool]], Iterable[WorkResult]],
        *,
        poll_s: float = POLL_S,
        drain_s: float = DRAIN_S,
    ) -> None:
        """Configure the worker; the thread starts later."""
        self._run_due = run_due
        self._poll_s = poll_s
        self._drain_s = drain_s
        self._lock = threading.Lock()
        self._is_stopped = False
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._has_work = False
        self._thread: threading.Thread | None = None
        self._pass_done = threading.Condition()
        self._passes_started = self._passes_finished = 0

    @property
    def has_died(self) -> bool:
        """Whether the thread has ended unexpectedly."""
        with self._lock:
            thread = self._thread
        return thread is not None and not thread.is_alive() and not self._is_stopped

    def start(self) -> None:
        """Start the thread; without a wake-up, it first looks for work after one interval.

        The delay keeps processes that open a store for a single call fast.
        """
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="memolith-worker", daemon=True
                )
                self._thread.start()

    def wake(self) -> None:
        """Signal that there is work to do."""
        self._has_work = True
        self._wake.set()
        self.start()

    def drain(self, timeout_s: float | None = None) -> bool:
        """Wait until all currently pending work was tried; return False on timeout.

        Returns at once if there was no wake-up since the worker was created.
        """
        if not self._has_work:
            return True
        with self._pass_done:
            target = self._passes_started + 1  # the current pass may have missed the newest work
            self._wake.set()
            self._pass_done.wait_for(
                lambda: self._passes_finished >= target or self._stop.is_set(), timeout_s
            )
            return self._passes_finished >= target

    def close(self) -> None:
        """Stop after the model calls in progress, waiting at most `drain_s` seconds for them."""
        self._is_stopped = True
        self._stop.set()
        self._wake.set()
        with self._pass_done:
            self._pass_done.notify_all()
        with self._lock:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(self._drain_s)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait(self._poll_s)
            if self._stop.is_set():
                return
            self._wake.clear()
            with self._pass_done:
                self._passes_started += 1
                number = self._passes_started
            try:
                self._run_due(self._stop.is_set)
            except StoreReadOnly:
                self._is_stopped = True  # left to a process that can write
                return
            except MemolithError as error:
                _log.warning("background work failed and will be retried: %s", error)
            except Exception as error:  # noqa: BLE001 - user-supplied functions may raise anything
                _log.error("background work failed and will be retried: %s", type(error).__name__)
            finally:
                with self._pass_done:
                    self._passes_finished = number
                    self._pass_done.notify_all()


# --- The loop of a foreground worker


LOOP_POLL_S = 20.0
"""Seconds between checks for due jobs: a third of the shortest job interval."""


def run_loop(
    run_due: Callable[[Callable[[], bool]], Iterable[JobResult | WorkResult]],
    stop: threading.Event,
    *,
    poll_s: float = LOOP_POLL_S,
    on_result: Callable[[JobResult | WorkResult], None] = lambda _done: None,
) -> None:
    """Run due jobs until `stop` is set; a job in progress is completed.

    Failures are logged and retried at the next check.

    Args:
        run_due: Runs due jobs; calls its argument between jobs to learn whether to stop.
        stop: Set from elsewhere, for example by a signal handler.
        poll_s: Seconds between checks.
        on_result: Called with the result of each job.
    """
    while not stop.is_set():
        try:
            for done in run_due(stop.is_set):
                on_result(done)
        except MemolithError as error:
            _log.warning("a due job failed and will be retried: %s", error)
        stop.wait(poll_s)
