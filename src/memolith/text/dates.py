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

_MONTH_GROUP = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY_GROUP = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_YEAR_GROUP = r"(?P<year>(?:19|20)\d\d)"

_DATE_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR_GROUP}-(?P<month>\d\d?)-{_DAY_GROUP}\b",
        rf"\b{_DAY_GROUP}\.(?P<month>\d\d?)\.{_YEAR_GROUP}\b",
        rf"\b{_DAY_GROUP}(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH_GROUP},?(?:\s+{_YEAR_GROUP})?\b",
        rf"\b{_MONTH_GROUP}\s+{_DAY_GROUP}(?:st|nd|rd|th)?\b(?:,?\s*{_YEAR_GROUP})?\b",
        rf"\b{_MONTH_GROUP},?\s+(?:of\s+)?{_YEAR_GROUP}\b",
        rf"\b(?:in|im|during|since|seit|last|late|early|mid)[\s-]+{_MONTH_GROUP}(?!\w)",
        rf"(?<![\w.,-]){_YEAR_GROUP}(?![\w-]|[.,]\d)",
    )
)
"""From the fullest form to the barest; what one has taken, the next do not see."""

_DATE_HINTS = (*"0123456789", *sorted({name[:3] for name in MONTHS}))


@dataclass(frozen=True, slots=True)
class DateRange:
    """A stretch of days: a day, a month, a year.

    Attributes:
        first: The first day.
        last: The last, not before the first.
    """

    first: date
    last: date

    @property
    def count_days(self) -> int:
        """How many days."""
        return (self.last - self.first).days + 1

    def overlaps(self, other: DateRange) -> bool:
        """Tell whether the two have a day in common."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date as a text names it.

    Attributes:
        span: Where it stands.
        days: What it may mean: one stretch, or one a year where no year is named; none where the
            calendar has no such day.
    """

    span: Span
    ranges: tuple[DateRange, ...]


def find_dates(text: str, years: Sequence[int]) -> Iterator[DateMention]:
    """Yield the dates that a text names, in the order of their forms, the fullest first.

    Args:
        text: Anything.
        years: The years that are meant where none is named.
    """
    if not _has_date_hint(text):
        return
    rest = text
    for form in _DATE_PATTERNS:
        for match in form.finditer(rest):
            yield DateMention(Span(*match.span()), tuple(_resolve_ranges(match.groupdict(), years)))
        rest = form.sub(lambda match: " " * len(match[0]), rest)


def _has_date_hint(text: str) -> bool:
    """Tell whether there is a digit or a month in a text, without which the forms need no look."""
    small = text.lower()
    return not text.isascii() or any(map(small.__contains__, _DATE_HINTS))


def mask_dates(text: str, mentions: Iterable[DateMention]) -> str:
    """Return a text with spaces for the dates that were found in it; nothing else moves."""
    pieces: list[str] = []
    end = 0
    for span in sorted((one.span for one in mentions), key=lambda span: span.start):
        pieces += [text[end : span.start], " " * (span.end - span.start)]
        end = span.end
    return "".join([*pieces, text[end:]])


def get_month_range(year: int, month: int) -> DateRange:
    """Return the days of a month."""
    import calendar  # here: it brings `locale`, which most texts can do without

    return DateRange(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def get_year_range(year: int) -> DateRange:
    """Return the days of a year."""
    return DateRange(date(year, 1, 1), date(year, 12, 31))


def build_range(first: date, count: int) -> DateRange:
    """Return so many days from one on, which count as one at least."""
    return DateRange(first, first + timedelta(days=max(count, 1) - 1))


def _resolve_ranges(named: dict[str, str | None], years: Sequence[int]) -> Iterator[DateRange]:
    month, day, year = _parse_month(named.get("month")), named.get("day"), named.get("year")
    for each in [int(year)] if year else years:
        days = _resolve_range(each, month, int(day) if day else None)
        if days is not None:
            yield days


def _parse_month(name: str | None) -> int | None:
    if name is None or name.isdigit():
        return None if name is None else int(name)
    return MONTHS[name.translate(_PLAIN_I).casefold()]


def _resolve_range(year: int, month: int | None, day: int | None) -> DateRange | None:
    """Return the year, month or day; None where the calendar has no such day."""
    if month is None:
        return get_year_range(year)
    if month not in MONTHS.values():
        return None
    whole = get_month_range(year, month)
    if day is None:
        return whole
    return build_range(date(year, month, day), 1) if day <= whole.count_days else None
