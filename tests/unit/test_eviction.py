"""Selection of memories to evict."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.decay import select_weakest

Row = tuple[float, float, int]


def select_rows(memories: list[Row], count: int) -> list[int]:
    strength, importance, created_at = zip(*memories, strict=True) if memories else ((), (), ())
    gone = select_weakest(
        np.array(strength, dtype=float),
        np.array(importance, dtype=float),
        np.array(created_at, dtype=np.int64),
        count,
    )
    return [int(row) for row in gone]


def test_nothing_is_evicted_when_there_is_room() -> None:
    assert select_rows([(0.1, 0.1, 1), (0.2, 0.2, 2)], 0) == []
    assert select_rows([], 1) == []


def test_eviction_orders_by_strength_importance_and_age() -> None:
    memories = [(0.5, 0.5, 3), (0.5, 0.5, 2), (0.5, 0.4, 9), (0.4, 0.9, 9)]
    assert select_rows(memories, 4) == [3, 2, 1, 0]
    assert select_rows(memories, 2) == [3, 2]


MEMORIES = st.lists(
    st.tuples(st.sampled_from([0.1, 0.5]), st.sampled_from([0.1, 0.5]), st.integers(0, 3))
)


@given(MEMORIES, st.integers(0, 30))
def test_requested_number_of_weakest_memories_is_evicted(memories: list[Row], count: int) -> None:
    gone = select_rows(memories, count)
    assert len(gone) == len(set(gone)) == min(len(memories), count)
    staying = [memories[row] for row in range(len(memories)) if row not in gone]
    if gone and staying:
        assert max(memories[row] for row in gone) <= min(staying)
