"""Vectors noted while they are being written are as near as stored ones would be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memolith.policies.indexing import cosines
from memolith.services.similar import PlannedVectors


def vectors(seed: int, count: int) -> list[NDArray[np.int8]]:
    rows = np.random.default_rng(seed).integers(-127, 128, (count, 8))
    return list(rows.astype(np.int8))


def test_none_are_near_where_there_are_none() -> None:
    noted = PlannedVectors()
    noted.put("a", [])
    assert noted.nearest(vectors(1, 1), 5) == []


@given(st.lists(st.integers(0, 3), max_size=90), st.integers(1, 3), st.integers(0, 99))
def test_each_is_as_near_as_its_nearest_passage_is_to_the_farthest_part(
    sizes: list[int], parts: int, seed: int
) -> None:
    noted = PlannedVectors()
    held = {str(place): vectors(place, size) for place, size in enumerate(sizes)}
    for id_, rows in held.items():
        noted.put(id_, rows)
    asked = vectors(seed + 1_000, parts)
    expected = {
        id_: min(cosines(np.stack(rows), part).max() for part in asked)
        for id_, rows in held.items()
        if rows
    }
    found = noted.nearest(asked, 100)
    assert dict(found) == pytest.approx(expected)
    assert [near for _, near in found] == sorted((near for _, near in found), reverse=True)
    assert noted.nearest(asked, 2) == found[:2]


def test_new_vectors_take_the_place_of_those_before() -> None:
    noted = PlannedVectors()
    first, second = vectors(1, 1), vectors(2, 1)
    noted.put("a", first)
    noted.put("a", second)
    ((id_, near),) = noted.nearest(first, 5)
    assert id_ == "a"
    assert near == pytest.approx(cosines(np.stack(second), first[0])[0])
