"""The indexes of the owners that were asked about lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from mnemon.adapters.sql.index import empty_index, extended

if TYPE_CHECKING:
    from mnemon.adapters.sql.index import IndexSource, OwnerIndex

_STATES_KEPT = 4
"""States an owner: readers whose snapshots are a few writes old find theirs (a guess)."""


class IndexCache:
    """Keeps indexes up to a size, and brings them to the counter asked for. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        """Take how much memory all indexes together may have; the one in use may exceed it."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._building: dict[int, threading.Lock] = {}
        self._states: OrderedDict[int, list[OwnerIndex]] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._size = 0

    def get(
        self, owner: int, *, counter: int, generation: int, next_item: int, source: IndexSource
    ) -> OwnerIndex:
        """Return an owner's index at exactly this counter.

        Args:
            source: The owner's tables at that counter.
        """
        found = self._known(owner, counter, generation)
        if found is not None and found.counter == counter:
            return found
        with self._builder(owner):
            found = self._known(owner, counter, generation)
            if found is not None and found.counter == counter:
                return found
            base = found or empty_index(generation)
            with base.lineage.lock:
                index = extended(base, source, counter, next_item)
            self._keep(owner, index)
            return index

    def forget(self) -> None:
        """Let go of all indexes."""
        with self._lock:
            self._states.clear()
            self._building.clear()
            self._sizes.clear()
            self._size = 0

    def _builder(self, owner: int) -> threading.Lock:
        with self._lock:
            return self._building.setdefault(owner, threading.Lock())

    def _known(self, owner: int, counter: int, generation: int) -> OwnerIndex | None:
        """Return the newest state that is not newer than the counter."""
        with self._lock:
            states = self._states.get(owner, [])
            if states:
                self._states.move_to_end(owner)
            fitting = [s for s in states if s.counter <= counter and s.generation == generation]
            return max(fitting, key=lambda state: state.counter, default=None)

    def _keep(self, owner: int, index: OwnerIndex) -> None:
        with self._lock:
            states = [s for s in self._states.get(owner, []) if s.generation == index.generation]
            states.append(index)
            states.sort(key=lambda state: state.counter)
            self._states[owner] = states[-_STATES_KEPT:]
            self._states.move_to_end(owner)
            self._size += index.nbytes - self._sizes.get(owner, 0)
            self._sizes[owner] = index.nbytes
            self._shrink()

    def _shrink(self) -> None:
        """Let the owners go who were not asked about for longest, but not the last."""
        while self._size > self._limit_bytes and len(self._states) > 1:
            owner, _ = self._states.popitem(last=False)
            self._size -= self._sizes.pop(owner)
            self._building.pop(owner, None)
