"""The transform of vectors hides them without loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from memolith.adapters.crypto.primitives import STRETCH, VectorTransform
from support.rows import check_each

KEY = bytes(range(32))
DIMENSIONS = st.integers(1, 400)


def vector_arrays(dimension: int) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.int8, (3, dimension), elements=st.integers(-128, 127))


@given(data=st.data(), dimension=DIMENSIONS, key=st.binary(min_size=32, max_size=32))
def test_encrypted_vectors_are_inverted_exactly(
    data: st.DataObject, dimension: int, key: bytes
) -> None:
    values = data.draw(vector_arrays(dimension))
    transform = VectorTransform(key, dimension)
    shown = transform.invert(transform.apply(values))
    assert shown.dtype == np.int8
    assert (shown == values).all()


@given(data=st.data(), dimension=DIMENSIONS)
def test_transform_scales_all_products_by_same_factor(data: st.DataObject, dimension: int) -> None:
    values = data.draw(vector_arrays(dimension))
    hidden = VectorTransform(KEY, dimension).apply(values).astype(np.int64)
    plain = values.astype(np.int64)
    assert (hidden @ hidden.T == STRETCH * (plain @ plain.T)).all()


@check_each("dimension", [384, 383, 1_024])
def test_largest_values_do_not_overflow(dimension: int) -> None:
    values = np.full((2, dimension), -128, dtype=np.int8)
    values[1] = np.where(np.arange(dimension) % 2, 127, -127)
    transform = VectorTransform(KEY, dimension)
    assert (transform.invert(transform.apply(values)) == values).all()


def test_another_key_gives_other_vectors_and_cannot_invert() -> None:
    values = np.random.default_rng(1).integers(-127, 128, (5, 384)).astype(np.int8)
    hidden = VectorTransform(KEY, 384).apply(values)
    other = VectorTransform(bytes(32), 384)
    assert not (other.apply(values) == hidden).all(axis=1).any()
    with pytest.raises(ValueError, match="not a vector"):
        other.invert(hidden)


def test_changed_vector_is_detected() -> None:
    values = np.random.default_rng(2).integers(-127, 128, (1, 384)).astype(np.int8)
    transform = VectorTransform(KEY, 384)
    hidden = transform.apply(values)
    hidden[0, 17] += 1
    with pytest.raises(ValueError, match="not a vector"):
        transform.invert(hidden)


def test_transform_of_key_is_stable() -> None:
    hidden = VectorTransform(KEY, 6).apply(np.array([[1, 2, 3, 4, 5, 6]], dtype=np.int8))
    assert hidden.tolist() == [[-80, -64, -8, -16, 24, 16]]


def test_empty_and_many_vectors_are_transformed() -> None:
    transform = VectorTransform(KEY, 8)
    assert transform.apply(np.empty((0, 8), dtype=np.int8)).shape == (0, 8)
    many = np.random.default_rng(3).integers(-127, 128, (20_000, 8)).astype(np.int8)
    assert (transform.invert(transform.apply(many)) == many).all()


def test_transform_repr_contains_no_key() -> None:
    assert repr(VectorTransform(KEY, 8)) == "Transform(dimension=8)"
