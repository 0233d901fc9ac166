"""Dates that a question names, as periods in time.

A period is [start, end) in microseconds since 1970, UTC. Messages are held against it by when
they were said, so a question about "8 May 2023" finds what was said that day, which is mostly
what was said about it. Where only a month is named ("in May"), every year's May that lies within
`YEARS` before the instant of asking will do.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from mnemon.text.dates import Days, named_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

Period = tuple[int, int]

YEARS = 10
"""How many years back a month without a year may lie. A guess, and a generous one: of two Mays
the better match wins."""


def periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods that the dates in a text stand for, in the order of their forms."""
    return tuple(dict.fromkeys(_periods(text, now)))


def _periods(text: str, now: datetime) -> Iterator[Period]:
    for named in named_dates(text, range(now.year - YEARS + 1, now.year + 1)):
        yield from map(_period, named.days)


def _period(days: Days) -> Period:
    begin = _instant(days.first)
    return begin, begin + days.count * 86_400_000_000


def _instant(day: date) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
