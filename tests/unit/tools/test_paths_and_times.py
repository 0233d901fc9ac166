"""Parsing of paths and times that models pass to tools."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.errors import InvalidInput
from memolith.tools.files import ROOT, FileCommandError, format_size, list_directory, normalise_path
from memolith.tools.handlers import parse_instant
from support.rows import check_each

PIECES = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "//",
        "%2e",
        "%2F",
        "\\",
        "\0",
        "a",
        "b.md",
        "…",
        "‥",
        "．",
        "é",
        "e\u0301",
        " ",
    ]
)
PATHS = st.lists(PIECES, max_size=8).map(lambda pieces: "/memories" + "".join(pieces))


@given(st.one_of(PATHS, st.text(max_size=40)))
def test_accepted_path_is_canonical_and_under_the_root(path: str) -> None:
    try:
        plain = normalise_path(path)
    except FileCommandError:
        return
    assert plain == ROOT or plain.startswith(f"{ROOT}/")
    assert not {"..", ".", ""} & set(plain.split("/")[1:])
    assert normalise_path(plain) == plain


def test_equivalent_paths_normalise_to_one_form() -> None:
    ways = ("/memories/a/é.md", "/memories//a/./é.md/", "/memories/a/e\u0301.md")
    assert {normalise_path(way) for way in ways} == {"/memories/a/é.md"}


@given(st.dictionaries(PATHS.filter(lambda p: ".." not in p), st.integers(0, 9), max_size=5))
def test_listing_has_no_duplicates_and_at_most_two_levels(sizes: dict[str, int]) -> None:
    found = list_directory({f"{ROOT}/{path[10:]}": count for path, count in sizes.items()}, ROOT)
    names = [name for name, _ in found]
    assert len(names) == len(set(names))
    assert all(name.rstrip("/").count("/") <= 1 for name in names)


@check_each(
    ("count", "shown"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1K"),
        (1536, "1.5K"),
        (1 << 20, "1M"),
        (5 << 30, "5G"),
        (1 << 40, "1024G"),
    ],
)
def test_sizes_are_formatted_like_anthropics_memory_tool(count: int, shown: str) -> None:
    assert format_size(count) == shown


@given(st.datetimes(datetime(1970, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - the time zone is passed separately
def test_time_parses_equally_from_seconds_and_iso(at: datetime) -> None:
    whole = at.replace(microsecond=0)
    assert parse_instant(whole.isoformat(), "since") == whole
    assert parse_instant(f"{whole:%Y-%m-%dT%H:%M:%S}", "since") == whole
    assert parse_instant(whole.timestamp(), "since") == whole
    if whole.timestamp() >= 10**8:  # a shorter number is a date
        assert parse_instant(str(int(whole.timestamp())), "since") == whole


@given(st.one_of(st.text(max_size=30), st.floats(), st.integers()))
def test_any_value_is_a_time_or_rejected(value: str | float) -> None:
    try:
        found = parse_instant(value, "since")
    except InvalidInput:
        return
    assert found is not None
    assert found.tzinfo is UTC


@check_each("value", ["", "soon", "2026-13-01", float("nan"), 1e300])
def test_error_for_invalid_time_names_the_argument(value: str | float) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_instant(value, "since")
    assert error.value.field == "since"
