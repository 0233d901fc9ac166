"""Rows about memories as the columns of `Vitals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memolith.adapters.sql.damage import translate_decode_errors
from memolith.domain.memories import State
from memolith.ports.upkeep import MemoryStats

if TYPE_CHECKING:
    from collections.abc import Sequence

_STATS_COLUMNS = 12


@translate_decode_errors
def decode_memory_stats(rows: Sequence[Sequence[Any]]) -> MemoryStats:
    """Return vitals of rows that have their columns, in order."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * _STATS_COLUMNS
    numbers, ids, kinds, states, importance, strength, *integers = columns
    access, used, created, updated, expires, session = (
        np.array(column, dtype=np.int64) for column in integers
    )
    return MemoryStats(
        number=np.array(numbers, dtype=np.int64),
        id=list(ids),
        kind=list(kinds),
        state=[State(state) for state in states],
        importance=np.array(importance, dtype=np.float64),
        strength=np.array(strength, dtype=np.float64),
        access_count=access,
        used_at=used,
        created_at=created,
        updated_at=updated,
        expires_at=expires,
        session=session,
    )
