"""Looking after memories: what scheduled work needs of a snapshot and of a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.domain.memories import State

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """All that decides whether memories live on, in columns, one row each.

    Times are in microseconds since 1970.

    Attributes:
        number: The item of its latest version.
        id: The memory's id.
        kind: Its kind.
        state: Where it is in its life.
        importance: As judged when it was stored, 0..1.
        strength: What is left of that, as last stored, 0..1.
        access_count: How often it was recalled.
        used_at: When it was last recalled, else created.
        created_at: When its first version was stored.
        updated_at: When this version was stored, or its state last changed.
        expires_at: When it ends by itself; −1: never.
        session: The session's number, as in `Items.session`; −1 without one.
    """

    number: Integers
    id: Sequence[str]
    kind: Sequence[str]
    state: Sequence[State]
    importance: Floats
    strength: Floats
    access_count: Integers
    used_at: Integers
    created_at: Integers
    updated_at: Integers
    expires_at: Integers
    session: Integers


class MemoryStatsReader(Protocol):
    """The part of a `Snapshot` that tells how memories stand, without reading what they say."""

    def memory_stats(self, *, states: frozenset[State]) -> MemoryStats:
        """Return the vitals of all memories in these states, oldest first (by creation, then id).

        A transaction sees in them what was written in it.
        """
        ...


class StrengthWriter(Protocol):
    """The part of a `Transaction` that looks after memories."""

    def set_strengths(self, ids: Sequence[str], strengths: Sequence[float]) -> None:
        """Store what is left of memories, each 0..1, in the order of their ids.

        No event, no version, no change of `updated_at` or of the counter. Ids that are not there
        are left out; of one that stands there twice, the last counts.
        """
        ...
