"""Dates that a question names, or means as it is asked, as periods in time.

A period is [start, end) in microseconds since 1970, UTC. Messages are held against it by when
they were said, so a question about "8 May 2023" finds what was said that day, which is mostly
what was said about it. Where only a month is named ("in May"), every year's May that lies within
`YEARS` before the instant of asking will do. "Last week" and "last May" are counted from the day of
asking, in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from memolith.text.dates import DateMention, DateRange, find_dates, mask_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.policies.ranking.model import Period

MAX_YEARS_BACK = 10
"""How many years back a month without a year may lie. A guess, and a generous one: of two Mays
the better match wins."""

_PAST_WORDS = (
    "last",
    "past",
    "previous",
    "ago",
    "yesterday",
    "letzt",
    "vorig",
    "vergangen",
    "gestern",
)
_MAY_MEAN_PAST = re.compile(rf"{'|'.join(_PAST_WORDS)}|\bvor\b", re.IGNORECASE)
"""Without one of these a question means no past day, and the forms need not be made."""


def find_periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods that the dates in a text stand for, in the order of their forms."""
    return tuple(dict.fromkeys(_iter_periods(text, now)))


def _iter_periods(text: str, now: datetime) -> Iterator[Period]:
    today = now.astimezone(UTC).date()
    years = range(today.year - MAX_YEARS_BACK + 1, today.year + 1)
    named = [one for one in find_dates(text, years) if not _is_last_month(text, one)]
    for one in named:
        yield from map(_to_period, one.ranges)
    if _MAY_MEAN_PAST.search(text):
        from memolith.text.relative_dates import resolve_past_dates

        yield from map(_to_period, resolve_past_dates(mask_dates(text, named), today))


def _is_last_month(text: str, one: DateMention) -> bool:
    """Tell whether a date is named as "last May": one month, which `days_past` finds."""
    return one.span.extract(text).lower().split()[0] == "last"


def _to_period(days: DateRange) -> Period:
    begin = _to_microseconds(days.first)
    return begin, begin + days.count_days * 86_400_000_000


def _to_microseconds(day: date) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
