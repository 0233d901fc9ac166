"""The thread that sends what is due, after what was committed."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from memolith.errors import MemolithError, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 30.0
"""Between two attempts, twice as long each time (a guess)."""

SHUTDOWN_TIMEOUT_S = 10.0
"""How long closing waits for what is due to be sent (a guess); the rest is sent by the next."""


class OutboxWorker:
    """Sends when woken, and again after a pause where that failed.

    The thread is begun by the first to wake it. A forked child begins one of its own.
    """

    def __init__(self, send: Callable[[Callable[[], bool]], bool]) -> None:
        """Take what sends, asking between batches whether to stop; it returns whether all is."""
        self._send = send
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._woken = threading.Event()
        self._ending = threading.Event()
        self._stopped = threading.Event()

    def wake(self) -> None:
        """Have what is due sent soon; not after closing."""
        if self._process != os.getpid():
            self._reset()
        with self._lock:
            if self._ending.is_set():
                return
            self._woken.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="memolith-vectors", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Wait, some seconds, for what is due to be sent, and end. Twice is no error."""
        if self._process != os.getpid():
            self._reset()
        with self._lock:
            self._ending.set()
            self._woken.set()
            thread = self._thread
        if thread is not None:
            thread.join(SHUTDOWN_TIMEOUT_S)
            self._stopped.set()
            thread.join()

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while True:
            self._woken.wait()
            is_last = self._ending.is_set()
            self._woken.clear()
            if self._send_pending():
                pause_s = _FIRST_PAUSE_S
            else:
                self._ending.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                self._woken.set()
            if is_last:
                return

    def _send_pending(self) -> bool:
        try:
            return self._send(self._stopped.is_set)
        except StoreReadOnly:
            return True  # who can write it will send it
        except MemolithError as error:
            _log.debug("vectors are still to be sent: %s", error)
            return False
