"""Integers go to PostgreSQL as they are, however large, and however many at once."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith.adapters.postgres.dialect import BigintArray, register_adapters
from support.postgres import on_server

_ASKED = "SELECT pg_typeof($1)::text, array_agg(w.value ORDER BY w.rowid) FROM unnest($1)"
_ASKED += " WITH ORDINALITY AS w (value, rowid)"


@pytest.fixture(scope="module")
def cursor() -> Iterator[psycopg.RawCursor[tuple[str, list[int]]]]:
    with psycopg.connect(on_server(), autocommit=True) as connection:
        register_adapters(connection)
        yield psycopg.RawCursor(connection)


@settings(max_examples=50, deadline=None)
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_many_numbers_arrive_as_they_are(
    cursor: psycopg.RawCursor[tuple[str, list[int]]], values: list[int]
) -> None:
    found = cursor.execute(_ASKED, (BigintArray(values),), binary=True).fetchone()
    assert found == ("bigint[]", values)
