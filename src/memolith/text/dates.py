"""Dates that a text names, English and German, as days of the calendar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from memolith.domain.items import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MONTHS = {
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
"""Names of months in small letters, and their numbers."""

_PLAIN_I = str.maketrans("İı", "ii")
"""Where case does not count, an expression takes these for an i; `casefold` does not."""

_MONTH = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
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

_SIGNS = (*"0123456789", *sorted({name[:3] for name in MONTHS}))


@dataclass(frozen=True, slots=True)
class Days:
    """A stretch of days: a day, a month, a year.

    Attributes:
        first: The first day.
        last: The last, not before the first.
    """

    first: date
    last: date

    @property
    def count(self) -> int:
        """How many days."""
        return (self.last - self.first).days + 1

    def meets(self, other: Days) -> bool:
        """Tell whether the two have a day in common."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class Named:
    """A date as a text names it.

    Attributes:
        span: Where it stands.
        days: What it may mean: one stretch, or one a year where no year is named; none where the
            calendar has no such day.
    """

    span: Span
    days: tuple[Days, ...]


def named_dates(text: str, years: Sequence[int]) -> Iterator[Named]:
    """Yield the dates that a text names, in the order of their forms, the fullest first.

    Args:
        text: Anything.
        years: The years that are meant where none is named.
    """
    if not _may_name_one(text):
        return
    rest = text
    for form in _FORMS:
        for match in form.finditer(rest):
            yield Named(Span(*match.span()), tuple(_days_of(match.groupdict(), years)))
        rest = form.sub(lambda match: " " * len(match[0]), rest)


def _may_name_one(text: str) -> bool:
    """Tell whether there is a digit or a month in a text, without which the forms need no look."""
    small = text.lower()
    return not text.isascii() or any(map(small.__contains__, _SIGNS))


def without_dates(text: str, named: Iterable[Named]) -> str:
    """Return a text with spaces for the dates that were found in it; nothing else moves."""
    pieces: list[str] = []
    end = 0
    for span in sorted((one.span for one in named), key=lambda span: span.start):
        pieces += [text[end : span.start], " " * (span.end - span.start)]
        end = span.end
    return "".join([*pieces, text[end:]])


def month_of(year: int, month: int) -> Days:
    """Return the days of a month."""
    import calendar  # here: it brings `locale`, which most texts can do without

    return Days(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def year_of(year: int) -> Days:
    """Return the days of a year."""
    return Days(date(year, 1, 1), date(year, 12, 31))


def days_from(first: date, count: int) -> Days:
    """Return so many days from one on, which count as one at least."""
    return Days(first, first + timedelta(days=max(count, 1) - 1))


def _days_of(named: dict[str, str | None], years: Sequence[int]) -> Iterator[Days]:
    month, day, year = _month(named.get("month")), named.get("day"), named.get("year")
    for each in [int(year)] if year else years:
        days = _days(each, month, int(day) if day else None)
        if days is not None:
            yield days


def _month(name: str | None) -> int | None:
    if name is None or name.isdigit():
        return None if name is None else int(name)
    return MONTHS[name.translate(_PLAIN_I).casefold()]


def _days(year: int, month: int | None, day: int | None) -> Days | None:
    """Return the year, month or day; None where the calendar has no such day."""
    if month is None:
        return year_of(year)
    if month not in MONTHS.values():
        return None
    whole = month_of(year, month)
    if day is None:
        return whole
    return days_from(date(year, month, day), 1) if day <= whole.count else None
