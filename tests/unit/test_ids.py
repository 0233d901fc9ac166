from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.errors import InvalidInput
from memolith.policies.arguments import parse_id, uuid7
from support.rows import check_each

INSTANTS = st.datetimes(
    datetime(1990, 1, 1),  # noqa: DTZ001 - Hypothesis takes its bounds without a zone
    datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@given(INSTANTS, st.binary(min_size=10, max_size=10))
def test_id_is_uuid_version_7_with_its_time(now: datetime, entropy: bytes) -> None:
    made = uuid.UUID(uuid7(now, entropy))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == int(now.timestamp() * 1000)


@given(INSTANTS, st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_later_id_sorts_after_earlier_one(now: datetime, first: bytes, second: bytes) -> None:
    assert uuid7(now, first) < uuid7(now + timedelta(milliseconds=2), second)


def test_all_74_random_bits_are_used() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    made = {uuid7(now, (1 << bit).to_bytes(10, "big")) for bit in range(74)}
    made.add(uuid7(now, bytes(10)))
    assert len(made) == 75


@check_each("text", ["", "x", "123", "' OR 1=1", None, 5])
def test_invalid_id_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInput, match="id"):
        parse_id(text)


def test_id_is_parsed_from_any_usual_form() -> None:
    made = uuid7(datetime(2026, 1, 1, tzinfo=UTC), b"0123456789")
    assert parse_id(made.upper()) == parse_id(f"{{{made}}}") == made
