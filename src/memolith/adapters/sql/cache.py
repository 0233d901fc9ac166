"""The indexes of the owners that were asked about lately."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from memolith.adapters.sql.index import Stamp, empty_index, extended

if TYPE_CHECKING:
    from memolith.adapters.sql.index import IndexSource, OwnerIndex

_STATES_KEPT = 4
"""States an owner: readers whose snapshots are a few writes old find theirs (a guess)."""


class _Counted(NamedTuple):
    """How much memory an owner's index took when that was counted.

    Attributes:
        in_all: All of it.
        of_lineage: What its lineage took of that, which grows with what is asked.
    """

    in_all: int
    of_lineage: int


_NOTHING = _Counted(0, 0)


class IndexCache:
    """Keeps indexes up to a size, and brings them to the counter asked for. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        """Take how much memory all indexes together may have; the one in use may exceed it."""
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._building: dict[int, threading.Lock] = {}
        self._states: OrderedDict[int, list[OwnerIndex]] = OrderedDict()
        self._sizes: dict[int, _Counted] = {}
        self._size = 0
        self._asked = 0

    def get(self, owner: int, stamp: Stamp, source: IndexSource) -> OwnerIndex:
        """Return an owner's index in exactly this state.

        Args:
            owner: The owner's number.
            stamp: The state.
            source: The owner's tables in that state.
        """
        found = self._known(owner, stamp)
        if found is not None and found.stamp == stamp:
            return found
        with self._builder(owner):
            found = self._known(owner, stamp)
            if found is not None and found.stamp == stamp:
                return found
            base = found or empty_index(stamp.generation)
            with base.lineage.lock:
                index = extended(base, source, stamp)
            self._keep(owner, index)
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
                self._let_go(owner)

    def _builder(self, owner: int) -> threading.Lock:
        with self._lock:
            return self._building.setdefault(owner, threading.Lock())

    def _known(self, owner: int, stamp: Stamp) -> OwnerIndex | None:
        """Return the newest state that is not newer than this one."""
        with self._lock:
            states = self._states.get(owner, [])
            if states:
                self._states.move_to_end(owner)
            self._count_asked(owner)
            fitting = [state for state in states if state.stamp.leads_to(stamp)]
            return max(fitting, key=lambda state: state.stamp, default=None)

    def _keep(self, owner: int, index: OwnerIndex) -> None:
        with self._lock:
            states = [*self._states.get(owner, []), index]
            states.sort(key=lambda state: state.stamp)
            newest = states[-1]
            # Earlier generations share nothing with it, and hold what was removed for good.
            states = [
                state for state in states if state.stamp.generation == newest.stamp.generation
            ]
            self._states[owner] = states[-_STATES_KEPT:]
            self._states.move_to_end(owner)
            self._count(owner, newest)

    def _count_asked(self, owner: int) -> None:
        """Count the index that was asked last anew, and note whose is asked now.

        An index grows while it is asked: it keeps the postings that it has read, and its codes.
        """
        before, self._asked = self._asked, owner
        states = self._states.get(before)
        if states and states[-1].lineage.nbytes != self._sizes[before].of_lineage:
            self._count(before, states[-1])

    def _count(self, owner: int, index: OwnerIndex) -> None:
        size = _Counted(index.nbytes, index.lineage.nbytes)
        self._size += size.in_all - self._sizes.get(owner, _NOTHING).in_all
        self._sizes[owner] = size
        self._shrink()

    def _shrink(self) -> None:
        """Let the owners go who were not asked about for longest, but not the last."""
        while self._size > self._limit_bytes and len(self._states) > 1:
            owner, _ = self._states.popitem(last=False)
            self._let_go(owner)

    def _let_go(self, owner: int) -> None:
        self._size -= self._sizes.pop(owner).in_all
        self._building.pop(owner, None)
