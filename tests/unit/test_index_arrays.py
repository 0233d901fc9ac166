"""Append-only arrays with stable older views, and IDs in columns."""

from collections.abc import Callable
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.sql.codecs import (
    instant,
    micros,
    pack_id,
    pack_id_or_none,
    unpack_id,
    unpack_ids,
)
from memolith.adapters.sql.quantised_codes import AppendOnlyArray
from memolith.errors import InvalidInput


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 90)), min_size=1, max_size=12))
def test_appending_never_changes_existing_views(steps: list[tuple[int, int]]) -> None:
    """Each step extends one of the existing arrays, not always the longest."""
    arrays: list[AppendOnlyArray[np.int64]] = [AppendOnlyArray.empty("i8")]
    expected: list[list[int]] = [[]]
    for step, (place, count) in enumerate(steps):
        base = place % len(arrays)
        rows = np.full(count, step)
        arrays.append(arrays[base].append_rows(rows))
        expected.append(expected[base] + rows.tolist())
        assert [array.view.tolist() for array in arrays] == expected


def test_array_grows_along_second_axis() -> None:
    first = (
        AppendOnlyArray[np.int64]
        .empty("i8", (2, 0), axis=1)
        .append_rows(np.array([[1, 2], [3, 4]]))
    )
    second = first.append_rows(np.array([[5], [6]]))
    third = first.append_rows(np.array([[7], [8]]))
    assert first.view.tolist() == [[1, 2], [3, 4]]
    assert second.view.tolist() == [[1, 2, 5], [3, 4, 6]]
    assert third.view.tolist() == [[1, 2, 7], [3, 4, 8]]


def test_replaced_rows_leave_old_array_unchanged() -> None:
    first = AppendOnlyArray[np.int64].empty("i8").append_rows(np.array([1, 2, 3]))
    second = first.with_rows_set(np.array([1]), np.array([9]))
    third = second.append_rows(np.array([4]))
    assert first.view.tolist() == [1, 2, 3]
    assert third.view.tolist() == [1, 9, 3, 4]
    assert first.append_rows(np.array([5])).view.tolist() == [1, 2, 3, 5]


def test_rows_set_after_append_leave_older_views_unchanged() -> None:
    first = AppendOnlyArray[np.int64].empty("i8").append_rows(np.array([1, 2]))
    second = first.append_rows(np.array([0, 0]))
    second.set_rows(np.array([2, 3]), np.array([8, 9]))
    assert first.view.tolist() == [1, 2]
    assert second.view.tolist() == [1, 2, 8, 9]


@given(st.lists(st.uuids(), max_size=5))
def test_ids_survive_packing_into_columns(ids: list[UUID]) -> None:
    texts = [str(one) for one in ids]
    packed = np.frombuffer(b"".join(map(pack_id, texts)), dtype=np.uint8).reshape(-1, 16)
    assert unpack_ids(packed) == texts
    assert [unpack_id(row.tobytes()) for row in packed] == texts


@given(st.text())
def test_invalid_id_is_packed_as_none(text: str) -> None:
    assert pack_id_or_none(text) is None


@pytest.mark.parametrize("change", [str.upper, "{{{}}}".format, "{} ".format, "{}0".format])
def test_id_in_another_form_is_rejected(change: Callable[[str], str]) -> None:
    with pytest.raises(InvalidInput):
        pack_id(change("0123abcd-0123-7abc-8def-0123456789ab"))


@given(st.integers(-(10**16), 10**17))
def test_times_survive_conversion_to_microseconds(microseconds: int) -> None:
    assert micros(instant(microseconds)) == microseconds
