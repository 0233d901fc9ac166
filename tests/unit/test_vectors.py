"""Storage and comparison of vectors."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from memolith.policies.indexing import centroid, cosines, norms, quantise

DIMENSION = 24

_numbers = st.floats(-1e6, 1e6, allow_nan=False, width=32)
_vectors = arrays(np.float32, (DIMENSION,), elements=_numbers)
_stored = arrays(np.int8, (5, DIMENSION), elements=st.integers(-127, 127))
_query = arrays(np.int8, (DIMENSION,), elements=st.integers(-127, 127))


@given(_vectors)
def test_largest_component_becomes_127(vector: NDArray[np.float32]) -> None:
    stored = quantise(vector)
    assert stored.dtype == np.int8
    assert np.max(np.abs(stored.astype(int))) == (127 if vector.any() else 0)


@given(_vectors)
def test_quantisation_is_idempotent(vector: NDArray[np.float32]) -> None:
    stored = quantise(vector)
    assert (quantise(stored.astype(np.float32)) == stored).all()


@given(_vectors, st.floats(1e-3, 1e3))
def test_quantisation_ignores_scale(vector: NDArray[np.float32], scale: float) -> None:
    difference = quantise(vector.astype(np.float64) * scale).astype(int) - quantise(vector)
    assert np.max(np.abs(difference)) <= 1  # where a component lies between two integers


def test_zero_vector_stays_zero() -> None:
    assert not quantise(np.zeros((2, DIMENSION))).any()


@given(_vectors)
def test_vector_is_quantised_independently_of_batch(vector: NDArray[np.float32]) -> None:
    together = quantise(np.stack([vector, np.ones(DIMENSION, dtype=np.float32)]))
    assert (together[0] == quantise(vector)).all()


@given(_stored, _query)
def test_cosines_lie_between_minus_one_and_one(
    stored: NDArray[np.int8], query: NDArray[np.int8]
) -> None:
    assert np.all(np.abs(cosines(stored, query)) <= 1 + 1e-12)


@given(_stored, _query)
def test_cosines_are_independent_of_batch(
    stored: NDArray[np.int8], query: NDArray[np.int8]
) -> None:
    alone = [cosines(row[None, :], query)[0] for row in stored]
    assert cosines(stored, query).tolist() == alone


@given(_stored, _query)
def test_cosines_are_exact(stored: NDArray[np.int8], query: NDArray[np.int8]) -> None:
    products = stored.astype(np.int64) @ query.astype(np.int64)
    lengths = np.sqrt((stored.astype(np.int64) ** 2).sum(axis=1)) * np.sqrt(
        (query.astype(np.int64) ** 2).sum()
    )
    expected = [p / length if length else 0.0 for p, length in zip(products, lengths, strict=True)]
    assert cosines(stored, query).tolist() == expected


@given(_stored)
def test_vector_is_nearest_to_itself(stored: NDArray[np.int8]) -> None:
    found = cosines(stored, stored[0])
    assert found[0] == (0.0 if not stored[0].any() else found.max())


@given(_stored)
def test_centroid_is_mean_of_directions(stored: NDArray[np.int8]) -> None:
    found = centroid(stored)
    pointing = stored[stored.any(axis=1)].astype(np.float64)
    if not len(pointing):
        assert found is None
        return
    assert found is not None
    expected = (pointing / np.linalg.norm(pointing, axis=1)[:, None]).mean(axis=0)
    assert np.allclose(found, expected, atol=1e-12)
    assert np.linalg.norm(found) <= 1 + 1e-12


def test_centroid_of_many_vectors_uses_all() -> None:
    stored = np.repeat(np.array([[127, 0], [0, 127]], dtype=np.int8), 5_000, axis=0)
    found = centroid(stored)
    assert found is not None
    assert found.tolist() == [0.5, 0.5]


@given(_stored)
def test_norms_equal_vector_lengths(stored: NDArray[np.int8]) -> None:
    expected = np.sqrt((stored.astype(np.int64) ** 2).sum(axis=1))
    assert norms(stored).tolist() == expected.tolist()


def test_largest_products_of_a_thousand_dimensions_are_exact() -> None:
    full = np.full((1, 1_040), 127, dtype=np.int8)
    square = 1_040 * 127**2
    assert cosines(full, full[0]).tolist() == [square / (math.sqrt(square) * math.sqrt(square))]
