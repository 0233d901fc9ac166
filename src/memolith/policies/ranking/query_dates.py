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

from memolith.text.dates import Days, Named, named_dates, without_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.policies.ranking.model import Period

YEARS = 10
"""How many years back a month without a year may lie. A guess, and a generous one: of two Mays
the better match wins."""

_SIGNS = ("last", "past", "previous", "ago", "yesterday", "letzt", "vorig", "vergangen", "gestern")
_MAY_MEAN_PAST = re.compile(rf"{'|'.join(_SIGNS)}|\bvor\b", re.IGNORECASE)
"""Without one of these a question means no past day, and the forms need not be made."""


def periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods that the dates in a text stand for, in the order of their forms."""
    return tuple(dict.fromkeys(_periods(text, now)))


def _periods(text: str, now: datetime) -> Iterator[Period]:
    today = now.astimezone(UTC).date()
    years = range(today.year - YEARS + 1, today.year + 1)
    named = [one for one in named_dates(text, years) if not _is_last(text, one)]
    for one in named:
        yield from map(_period, one.days)
    if _MAY_MEAN_PAST.search(text):
        from memolith.text.relative_dates import days_past

        yield from map(_period, days_past(without_dates(text, named), today))


def _is_last(text: str, one: Named) -> bool:
    """Tell whether a date is named as "last May": one month, which `days_past` finds."""
    return one.span.of(text).lower().split()[0] == "last"


def _period(days: Days) -> Period:
    begin = _instant(days.first)
    return begin, begin + days.count * 86_400_000_000


def _instant(day: date) -> int:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
