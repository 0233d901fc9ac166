"""Access counts, gathered and written off the critical path."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from memolith.errors import MemolithError, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from memolith.ports.clock import Clock
    from memolith.ports.store import Store

_log = logging.getLogger(__name__)

FLUSH_INTERVAL_S = 1.0
"""How long a touch may wait: short enough for a demo to show it, long enough to gather a burst."""


class AccessCounter:
    """Gathers touches and writes them from a thread of its own. Thread-safe.

    Losing a touch is fine, delaying a read is not: a write that fails is logged and left.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        """Write to this store, with the time of this clock."""
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[str, dict[str, tuple[int, datetime]]] = {}
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, owner_id: str, ids: Iterable[str]) -> None:
        """Note that these memories were recalled now."""
        now = self._clock.now()
        with self._lock:
            waiting = self._pending.setdefault(owner_id, {})
            for id_ in ids:
                waiting[id_] = (waiting.get(id_, (0, now))[0] + 1, now)
            if not waiting:
                del self._pending[owner_id]
            elif self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="memolith-touch", daemon=True
                )
                self._thread.start()

    def flush(self) -> None:
        """Write what waits."""
        with self._lock:
            waiting, self._pending = self._pending, {}
        for owner_id, accessed in waiting.items():
            try:
                self._store.record_access(owner_id, accessed)
            except StoreReadOnly:
                continue  # nobody expects a use to be counted there
            except MemolithError as error:
                _log.warning("could not note %d recalls: %s", len(accessed), type(error).__name__)

    def close(self) -> None:
        """Write what waits and end the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._closing.wait(FLUSH_INTERVAL_S):
            self.flush()
