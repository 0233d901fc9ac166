"""Novelty by example, and its general properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from memolith.policies.indexing import centroid, compute_novelty, quantise

matrices = hnp.arrays(
    np.float32, st.tuples(st.integers(0, 6), st.just(3)), elements=st.floats(-1, 1, width=16)
)
centres = st.none() | hnp.arrays(np.float64, 3, elements=st.floats(-1, 1, width=16))


def test_everything_is_new_without_stored_vectors() -> None:
    assert compute_novelty(np.eye(3, dtype=np.float32), None).tolist() == [1.0, 1.0, 1.0]


def test_same_direction_is_not_new() -> None:
    assert compute_novelty(np.array([[0.6, 0.8]]), np.array([0.3, 0.4])) == pytest.approx([0.0])


def test_novelty_is_distance_from_centre() -> None:
    centre = np.array([0.5, 0.5])
    assert compute_novelty(np.array([[3.0, 0.0]]), centre) == pytest.approx([1 - np.sqrt(0.5)])


def test_opposite_direction_has_novelty_of_1() -> None:
    assert compute_novelty(np.array([[-1.0, 0.0]]), np.array([1.0, 0.0])).tolist() == [1.0]


def test_zero_centre_makes_everything_new() -> None:
    assert compute_novelty(np.array([[1.0, 0.0]]), np.zeros(2)).tolist() == [1.0]


def test_zero_vector_is_new() -> None:
    assert compute_novelty(np.zeros((1, 2)), np.array([1.0, 0.0])).tolist() == [1.0]


@given(matrices, centres)
def test_novelty_is_between_0_and_1(
    vectors: NDArray[np.float32], centre: NDArray[np.float64] | None
) -> None:
    found = compute_novelty(vectors, centre)
    assert found.shape == (len(vectors),)
    assert ((found >= 0) & (found <= 1)).all()


def test_quantised_vectors_give_nearly_exact_novelty() -> None:
    vectors = np.random.default_rng(7).normal(size=(20, 384))
    exact = compute_novelty(
        vectors, (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0)
    )
    stored = quantise(vectors)
    assert compute_novelty(vectors, centroid(stored)) == pytest.approx(exact, abs=0.01)
