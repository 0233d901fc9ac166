"""Arrays of integers are sent to PostgreSQL unchanged, up to 64 bits."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith.adapters.postgres.dialect import BigintArray, register_adapters
from support.postgres import on_server

_QUERY = "SELECT pg_typeof($1)::text, array_agg(w.value ORDER BY w.rowid) FROM unnest($1)"
_QUERY += " WITH ORDINALITY AS w (value, rowid)"


@pytest.fixture(scope="module")
def cursor() -> Iterator[psycopg.RawCursor[tuple[str, list[int]]]]:
    with psycopg.connect(on_server(), autocommit=True) as connection:
        register_adapters(connection)
        yield psycopg.RawCursor(connection)


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_bigint_arrays_are_sent_unchanged(
    cursor: psycopg.RawCursor[tuple[str, list[int]]], values: list[int]
) -> None:
    found = cursor.execute(_QUERY, (BigintArray(values),), binary=True).fetchone()
    assert found == ("bigint[]", values)
