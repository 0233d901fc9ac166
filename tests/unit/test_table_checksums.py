"""Checksums of table rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.sql.tables import compute_checksums

VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.binary(max_size=5), st.text(max_size=5)
)
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=8)


def make_batches(rows: list[tuple[Any, ...]], size: int) -> Iterator[tuple[str, list[Any]]]:
    for start in range(0, len(rows), size):
        yield "terms", rows[start : start + size]


@given(rows=ROWS, one=st.integers(1, 9), other=st.integers(1, 9))
def test_checksum_is_independent_of_batches(
    rows: list[tuple[Any, ...]], one: int, other: int
) -> None:
    assert compute_checksums(make_batches(rows, one)) == compute_checksums(
        make_batches(rows, other)
    )
    assert compute_checksums(make_batches(rows, one))["terms"].rows == len(rows)


@given(rows=ROWS, data=st.data())
def test_any_change_of_rows_changes_checksum(
    rows: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    column, value = data.draw(st.integers(0, 2)), data.draw(VALUES)
    changed = list(rows[at])
    changed[column] = value
    for other in (
        [*rows[:at], tuple(changed), *rows[at + 1 :]],
        [*rows[:at], *rows[at + 1 :]],
        rows[::-1],
    ):
        assert (
            compute_checksums(make_batches(other, 2)) == compute_checksums(make_batches(rows, 2))
        ) == (other == rows)


def test_empty_input_has_no_checksum_and_zero_has_no_sign() -> None:
    assert compute_checksums([]) == {}
    row = (*range(11), 0.0, *range(20))
    minus = (*range(11), -0.0, *range(20))
    assert compute_checksums([("memories", [row])]) == compute_checksums([("memories", [minus])])
    assert compute_checksums([("terms", [row])]) != compute_checksums([("terms", [minus])])
