"""A worker in the process that uses the memory: it learns while the process does other things."""

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
"""How often it is looked for work of which nobody told: what others stored, what failed before."""

DRAIN_S = 10.0
"""For how long a process that ends waits for what a model was asked already: a guess."""

_log = logging.getLogger(__name__)


class BackgroundWorker:
    """Works in a thread of its own: at a word of something to do, and now and then. Thread-safe."""

    def __init__(
        self,
        run_due: Callable[[Callable[[], bool]], Iterable[WorkResult]],
        *,
        poll_s: float = POLL_S,
        drain_s: float = DRAIN_S,
    ) -> None:
        """Do what waits by this function; nothing begins yet."""
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
        """Whether it has begun, and ended without being told to, or knowing that it must."""
        with self._lock:
            thread = self._thread
        return thread is not None and not thread.is_alive() and not self._is_stopped

    def start(self) -> None:
        """Look after a while what others have left, if no word comes before.

        Not at once: who opens a store for a single call is not kept waiting by that.
        """
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="memolith-worker", daemon=True
                )
                self._thread.start()

    def wake(self) -> None:
        """Say that there is something to do."""
        self._has_work = True
        self._wake.set()
        self.start()

    def drain(self, timeout_s: float | None = None) -> bool:
        """Wait until all that waits now was tried, at most so long; return whether it was.

        Where no word of anything to do has come yet, nothing is waited for.
        """
        if not self._has_work:
            return True
        with self._pass_done:
            wanted = self._passes_started + 1  # what is under way may have looked before it came
            self._wake.set()
            self._pass_done.wait_for(
                lambda: self._passes_finished >= wanted or self._stop.is_set(), timeout_s
            )
            return self._passes_finished >= wanted

    def close(self) -> None:
        """Stop: what a model was asked already is waited for, so long; the rest waits on."""
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
                self._is_stopped = True  # whoever can write does the work
                return
            except MemolithError as error:
                _log.warning("work in the background failed, and waits: %s", error)
            except Exception as error:  # noqa: BLE001 - a function of the caller's may raise anything
                _log.error("work in the background failed by %s, and waits", type(error).__name__)
            finally:
                with self._pass_done:
                    self._passes_finished = number
                    self._pass_done.notify_all()


# --- The background loop: does what is due, again and again, until it is told to stop


LOOP_POLL_S = 20.0
"""How often it is looked whether something is due: thrice within the shortest interval."""


def run_loop(
    run_due: Callable[[Callable[[], bool]], Iterable[JobResult | WorkResult]],
    stop: threading.Event,
    *,
    poll_s: float = LOOP_POLL_S,
    on_result: Callable[[JobResult | WorkResult], None] = lambda _done: None,
) -> None:
    """Do what is due until `stop` is set; what was begun is left whole.

    What fails is logged and tried again at the next look.

    Args:
        run_due: Does what is due, asking in between whether to stop.
        stop: Set from elsewhere, a signal handler for instance.
        poll_s: How long to wait between looks, in seconds.
        report: Called with each thing that was done.
    """
    while not stop.is_set():
        try:
            for done in run_due(stop.is_set):
                on_result(done)
        except MemolithError as error:
            _log.warning("what was due failed, and stays due: %s", error)
        stop.wait(poll_s)
