"""The indexes of the owners that were asked about lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from memolith.adapters.sql.index import IndexVersion, empty_index, update_index

if TYPE_CHECKING:
    from memolith.adapters.sql.index import IndexSource, OwnerIndex

_STATES_PER_OWNER = 4
"""States an owner: readers whose snapshots are a few writes old find theirs (a guess)."""


class _IndexSize(NamedTuple):
    """How much memory an owner's index took when that was counted.

    Attributes:
        in_all: All of it.
        of_lineage: What its lineage took of that, which grows with what is asked.
    """

    total_bytes: int
    shared_bytes: int


_EMPTY_SIZE = _IndexSize(0, 0)


class IndexCache:
    """Keeps indexes up to a size, and brings them to the counter asked for. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        """Take how much memory all indexes together may have; the one in use may exceed it."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._building: dict[int, threading.Lock] = {}
        self._states: OrderedDict[int, list[OwnerIndex]] = OrderedDict()
        self._sizes: dict[int, _IndexSize] = {}
        self._size = 0
        self._last_owner = 0

    def get(self, owner: int, version: IndexVersion, source: IndexSource) -> OwnerIndex:
        """Return an owner's index in exactly this state.

        Args:
            owner: The owner's number.
            stamp: The state.
            source: The owner's tables in that state.
        """
        found = self._find_base(owner, version)
        if found is not None and found.version == version:
            return found
        with self._build_lock(owner):
            found = self._find_base(owner, version)
            if found is not None and found.version == version:
                return found
            base = found or empty_index(version.generation)
            with base.shared.lock:
                index = update_index(base, source, version)
            self._store_index(owner, index)
            return index

    def forget(self) -> None:
        """Let go of all indexes."""
        with self._lock:
            self._states.clear()
            self._building.clear()
            self._sizes.clear()
            self._size = 0

    def forget_owner(self, owner: int) -> None:
        """Let go of an owner's index: the rows that it is made of were removed for good."""
        with self._lock:
            if self._states.pop(owner, None) is not None:
                self._drop_owner(owner)

    def _build_lock(self, owner: int) -> threading.Lock:
        with self._lock:
            return self._building.setdefault(owner, threading.Lock())

    def _find_base(self, owner: int, version: IndexVersion) -> OwnerIndex | None:
        """Return the newest state that is not newer than this one."""
        with self._lock:
            states = self._states.get(owner, [])
            if states:
                self._states.move_to_end(owner)
            self._recount_last_used(owner)
            fitting = [state for state in states if state.version.precedes(version)]
            return max(fitting, key=lambda state: state.version, default=None)

    def _store_index(self, owner: int, index: OwnerIndex) -> None:
        with self._lock:
            states = [*self._states.get(owner, []), index]
            states.sort(key=lambda state: state.version)
            newest = states[-1]
            # Earlier generations share nothing with it, and hold what was removed for good.
            states = [
                state for state in states if state.version.generation == newest.version.generation
            ]
            self._states[owner] = states[-_STATES_PER_OWNER:]
            self._states.move_to_end(owner)
            self._update_size(owner, newest)

    def _recount_last_used(self, owner: int) -> None:
        """Count the index that was asked last anew, and note whose is asked now.

        An index grows while it is asked: it keeps the postings that it has read, and its codes.
        """
        before, self._last_owner = self._last_owner, owner
        states = self._states.get(before)
        if states and states[-1].shared.nbytes != self._sizes[before].shared_bytes:
            self._update_size(before, states[-1])

    def _update_size(self, owner: int, index: OwnerIndex) -> None:
        size = _IndexSize(index.nbytes, index.shared.nbytes)
        self._size += size.total_bytes - self._sizes.get(owner, _EMPTY_SIZE).total_bytes
        self._sizes[owner] = size
        self._shrink()

    def _shrink(self) -> None:
        """Let the owners go who were not asked about for longest, but not the last."""
        while self._size > self._limit_bytes and len(self._states) > 1:
            owner, _ = self._states.popitem(last=False)
            self._drop_owner(owner)

    def _drop_owner(self, owner: int) -> None:
        self._size -= self._sizes.pop(owner).total_bytes
        self._building.pop(owner, None)
