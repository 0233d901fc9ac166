"""Vectors planned for writing are as similar as stored ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memolith.policies.indexing import cosines
from memolith.services.similar import PlannedVectors


def make_vectors(seed: int, count: int) -> list[NDArray[np.int8]]:
    rows = np.random.default_rng(seed).integers(-127, 128, (count, 8))
    return list(rows.astype(np.int8))


def test_no_vectors_give_no_neighbours() -> None:
    noted = PlannedVectors()
    noted.put("a", [])
    assert noted.nearest(make_vectors(1, 1), 5) == []


@given(st.lists(st.integers(0, 3), max_size=90), st.integers(1, 3), st.integers(0, 99))
def test_similarity_is_that_of_farthest_part_to_nearest_passage(
    sizes: list[int], parts: int, seed: int
) -> None:
    noted = PlannedVectors()
    held = {str(place): make_vectors(place, size) for place, size in enumerate(sizes)}
    for id_, rows in held.items():
        noted.put(id_, rows)
    asked = make_vectors(seed + 1_000, parts)
    expected = {
        id_: min(cosines(np.stack(rows), part).max() for part in asked)
        for id_, rows in held.items()
        if rows
    }
    found = noted.nearest(asked, 100)
    assert dict(found) == pytest.approx(expected)
    assert [near for _, near in found] == sorted((near for _, near in found), reverse=True)
    assert noted.nearest(asked, 2) == found[:2]


def test_new_vectors_replace_previous_ones() -> None:
    noted = PlannedVectors()
    first, second = make_vectors(1, 1), make_vectors(2, 1)
    noted.put("a", first)
    noted.put("a", second)
    ((id_, near),) = noted.nearest(first, 5)
    assert id_ == "a"
    assert near == pytest.approx(cosines(np.stack(second), first[0])[0])
