from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.errors import InvalidInput
from memolith.policies import arguments
from support.rows import check_each

DAY = 86_400


@check_each(
    ("text", "seconds"),
    [
        ("", None),
        ("7d", 7 * DAY),
        ("30d", 30 * DAY),
        ("24h", DAY),
        ("60m", 3_600),
        ("365d", 365 * DAY),
        ("400d", 365 * DAY),
        ("999999999d", 365 * DAY),
    ],
)
def test_expiry_is_parsed_and_capped_at_one_year(text: str, seconds: int | None) -> None:
    lasting = arguments.parse_expires_in(text)
    assert (None if lasting is None else lasting.total_seconds()) == seconds


@check_each(
    "text",
    [
        "0d",
        "-1d",
        "7D",
        " 7d",
        "7d\n",
        "٣d",
        "1.5d",
        "d",
        "7",
        "7w",
        "1d2h",
        "1000000000d",
        None,
        7,
    ],
)
def test_invalid_expiry_is_rejected(text: object) -> None:
    with pytest.raises(InvalidInput, match="expires_in"):
        arguments.parse_expires_in(text)


@given(st.text(max_size=12))
def test_any_expiry_text_is_parsed_or_rejected(text: str) -> None:
    try:
        lasting = arguments.parse_expires_in(text)
    except InvalidInput:
        return
    assert lasting is None or timedelta(0) < lasting <= arguments.LONGEST_EXPIRY


@given(st.floats() | st.integers())
def test_share_outside_0_to_1_is_rejected(value: float) -> None:
    if 0 <= value <= 1:
        assert arguments.check_share(value, "importance") == value
    else:
        with pytest.raises(InvalidInput, match="importance"):
            arguments.check_share(value, "importance")


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=5, minutes=30)))))
def test_instant_is_converted_to_utc(value: datetime) -> None:
    try:
        kept = arguments.check_instant(value, "at")
    except InvalidInput:
        assert value.year in {1, 9999}
        return
    assert kept == value
    assert kept.tzinfo is UTC


def test_instant_without_time_zone_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        arguments.check_instant(datetime(2026, 1, 1), "at")  # noqa: DTZ001
    with pytest.raises(InvalidInput, match="datetime"):
        arguments.check_instant("2026-01-01", "at")


def test_name_must_have_1_to_256_characters() -> None:
    assert arguments.check_name("x" * 256, "owner") == "x" * 256
    for bad in ("", "\t", "x" * 257, "a\x00", "a\nb", "\udcff", 7, None):
        with pytest.raises(InvalidInput, match="owner"):
            arguments.check_name(bad, "owner")


def test_tags_are_sorted_and_unique() -> None:
    assert arguments.check_tags(["b", "a", "b"]) == ("a", "b")


def test_large_counts_are_capped_and_invalid_ones_rejected() -> None:
    assert arguments.check_count(500, "top_k", minimum=0, maximum=100) == 100
    assert arguments.check_count(3.0, "top_k", minimum=0) == 3
    for bad in (-1, 1.5, float("nan"), True, "3"):
        with pytest.raises(InvalidInput, match="top_k"):
            arguments.check_count(bad, "top_k", minimum=0)
