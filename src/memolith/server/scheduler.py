"""Runs scheduled jobs inside the server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memolith.worker.background import run_loop

if TYPE_CHECKING:
    from memolith.api.engine import Memolith


class JobScheduler:
    """Runs due jobs periodically; each job runs in one process only."""

    def __init__(self, engine: Memolith) -> None:
        """Prepare the scheduler without starting it."""
        self._engine = engine
        self._thread: threading.Thread | None = None

    @property
    def has_died(self) -> bool:
        """Return whether the scheduler was started and its thread has ended."""
        return self._thread is not None and not self._thread.is_alive()

    @contextmanager
    def running(self, timeout_s: float) -> Iterator[None]:
        """Run jobs during the block; at its end, wait up to `timeout_s` for the current job."""
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
