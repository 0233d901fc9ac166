"""Dates that a question names, as periods in time.

A period is [start, end) in microseconds since 1970, UTC. Messages are held against it by when
they were said, so a question about "8 May 2023" finds what was said that day, which is mostly
what was said about it. Where only a month is named ("in May"), every year's May that lies within
`YEARS` before the instant of asking will do.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

Period = tuple[int, int]

YEARS = 10
"""How many years back a month without a year may lie. A guess, and a generous one: of two Mays
the better match wins."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar jan jänner",
            "february februar feb",
            "march märz mar mär",
            "april apr",
            "may mai",
            "june juni jun",
            "july juli jul",
            "august aug",
            "september sept sep",
            "october oktober oct okt",
            "november nov",
            "december dezember dec dez",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?P<year>(?:19|20)\d\d)"

_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR}-(?P<month>\d\d?)-{_DAY}\b",
        rf"\b{_DAY}\.(?P<month>\d\d?)\.{_YEAR}\b",
        rf"\b{_DAY}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH},?(?:\s+{_YEAR})?\b",
        rf"\b{_MONTH}\s+{_DAY}(?:st|nd|rd|th)?\b(?:,?\s*{_YEAR})?\b",
        rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b",
        rf"\b(?:in|im|during|since|seit|last|late|early|mid)[\s-]+{_MONTH}(?!\w)",
        rf"(?<![\w.,-]){_YEAR}(?![\w-]|[.,]\d)",
    )
)
"""From the fullest form to the barest; what one has taken, the next do not see."""


def periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Return the periods that the dates in a text stand for, in the order of their forms."""
    found: list[Period] = []
    rest = text
    for form in _FORMS:
        for match in form.finditer(rest):
            found.extend(_periods_of(match.groupdict(), now))
        rest = form.sub(lambda match: " " * len(match[0]), rest)
    return tuple(dict.fromkeys(found))


def _periods_of(named: dict[str, str | None], now: datetime) -> Iterator[Period]:
    month = _month(named.get("month"))
    day = named.get("day")
    year = named.get("year")
    years = [int(year)] if year else range(now.year - YEARS + 1, now.year + 1)
    for each in years:
        period = _period(each, month, int(day) if day else None)
        if period is not None:
            yield period


def _month(name: str | None) -> int | None:
    if name is None or name.isdigit():
        return None if name is None else int(name)
    return _MONTHS[name.casefold()]


def _period(year: int, month: int | None, day: int | None) -> Period | None:
    """Return the year, month or day; None where the calendar has no such day."""
    if month is None:
        return _span(date(year, 1, 1), 366 if calendar.isleap(year) else 365)
    if month not in _MONTHS.values():
        return None
    length = calendar.monthrange(year, month)[1]
    if day is None:
        return _span(date(year, month, 1), length)
    return _span(date(year, month, day), 1) if day <= length else None


def _span(first: date, days: int) -> Period:
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    begin = (start - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return begin, begin + days * 86_400_000_000
