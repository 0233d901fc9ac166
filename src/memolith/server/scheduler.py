"""The scheduled jobs, done by the service, beside what it is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memolith.worker.background import run_loop

if TYPE_CHECKING:
    from memolith.api.engine import Memolith


class JobScheduler:
    """Does what is due now and then. Of several processes one does each."""

    def __init__(self, engine: Memolith) -> None:
        """Do nothing yet."""
        self._engine = engine
        self._thread: threading.Thread | None = None

    @property
    def has_died(self) -> bool:
        """Whether it is to be done, and is not."""
        return self._thread is not None and not self._thread.is_alive()

    @contextmanager
    def running(self, timeout_s: float) -> Iterator[None]:
        """Do it while the block runs; at its end what was begun is waited for, so long."""
        stop = threading.Event()
        self._thread = threading.Thread(
            target=run_loop, args=(self._engine.run_jobs, stop), name="memolith-jobs", daemon=True
        )
        self._thread.start()
        try:
            yield
        finally:
            stop.set()
            thread, self._thread = self._thread, None
            thread.join(timeout_s)
