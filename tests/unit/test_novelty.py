"""Novelty, by example; and what must hold of it for any vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from mnemon.policies.novelty import centroid, novelty
from mnemon.policies.vectors import quantise

matrices = hnp.arrays(
    np.float32, st.tuples(st.integers(0, 6), st.just(3)), elements=st.floats(-1, 1, width=16)
)


def test_with_nothing_stored_all_is_new() -> None:
    assert centroid([]) is None
    assert centroid([np.zeros((2, 3), np.float32)]) is None
    assert novelty(np.eye(3, dtype=np.float32), None).tolist() == [1.0, 1.0, 1.0]


def test_the_same_again_is_not_new() -> None:
    vector = np.array([[0.6, 0.8]])
    assert novelty(vector, centroid([vector])) == pytest.approx([0.0])


def test_novelty_is_the_distance_from_the_middle() -> None:
    centre = centroid([np.array([[1.0, 0.0], [0.0, 1.0]])])
    assert centre == pytest.approx(np.array([0.5, 0.5]))
    assert novelty(np.array([[1.0, 0.0]]), centre) == pytest.approx([1 - np.sqrt(0.5)])


def test_what_points_away_is_no_newer_than_new() -> None:
    centre = centroid([np.array([[1.0, 0.0]])])
    assert novelty(np.array([[-1.0, 0.0]]), centre).tolist() == [1.0]


def test_stored_vectors_count_by_direction_alone() -> None:
    long, short = np.array([[127, 0]], np.int8), np.array([[0, 3]], np.int8)
    assert centroid([long, short]) == pytest.approx(np.array([0.5, 0.5]))


def test_vectors_that_cancel_out_leave_all_new() -> None:
    centre = centroid([np.array([[1.0, 0.0], [-1.0, 0.0]])])
    assert novelty(np.array([[1.0, 0.0]]), centre).tolist() == [1.0]


def test_a_text_with_nothing_to_embed_is_new_and_moves_nothing() -> None:
    nothing = np.zeros((1, 2))
    centre = centroid([np.array([[1.0, 0.0]]), nothing])
    assert centre == pytest.approx(np.array([1.0, 0.0]))
    assert novelty(nothing, centre).tolist() == [1.0]


@given(matrices, st.lists(matrices, max_size=4))
def test_novelty_is_between_nothing_and_one(
    vectors: NDArray[np.float32], stored: list[NDArray[np.float32]]
) -> None:
    found = novelty(vectors, centroid(stored))
    assert found.shape == (len(vectors),)
    assert ((found >= 0) & (found <= 1)).all()


@given(matrices, matrices)
def test_batches_do_not_matter(first: NDArray[np.float32], second: NDArray[np.float32]) -> None:
    apart, together = centroid([first, second]), centroid([np.vstack([first, second])])
    if together is None:
        assert apart is None
    else:
        assert apart == pytest.approx(together, abs=1e-12)


def test_quantised_vectors_give_nearly_the_same() -> None:
    vectors = np.random.default_rng(7).normal(size=(20, 384))
    exact = novelty(vectors, centroid([vectors]))
    assert novelty(quantise(vectors), centroid([quantise(vectors)])) == pytest.approx(
        exact, abs=0.01
    )
