"""Find dates in text and resolve relative dates, in English and German."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from memolith.domain.memories import Span
from memolith.text.numbers import NUMBER_WORD_VALUES

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
"""Month names in lower case, with their numbers."""

_PLAIN_I = str.maketrans("İı", "ii")
"""Case-insensitive patterns match these as "i", but `casefold` does not convert them."""

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
"""From the most to the least complete form; a match hides its text from later patterns."""

_DATE_HINTS = (*"0123456789", *sorted({name[:3] for name in MONTHS}))


@dataclass(frozen=True, slots=True)
class DateRange:
    """A range of days: a day, a month, a year.

    Attributes:
        first: The first day.
        last: The last day, not before the first.
    """

    first: date
    last: date

    @property
    def count_days(self) -> int:
        """Number of days."""
        return (self.last - self.first).days + 1

    def overlaps(self, other: DateRange) -> bool:
        """Return whether the two ranges have a day in common."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text.

    Attributes:
        span: Its location in the text.
        ranges: Its possible meanings: one range, or one per year if the year is missing. Empty for
            a day that the calendar does not have.
    """

    span: Span
    ranges: tuple[DateRange, ...]


def find_dates(text: str, years: Sequence[int]) -> Iterator[DateMention]:
    """Yield the dates in a text, ordered by their form, the most complete first.

    Args:
        text: Any text.
        years: The possible years of dates without a year.
    """
    if not _has_date_hint(text):
        return
    remaining = text
    for form in _DATE_PATTERNS:
        for match in form.finditer(remaining):
            yield DateMention(Span(*match.span()), tuple(_resolve_ranges(match.groupdict(), years)))
        remaining = form.sub(lambda match: " " * len(match[0]), remaining)


def _has_date_hint(text: str) -> bool:
    """Return whether a text has a digit or a month; the patterns match no other texts."""
    small = text.lower()
    return not text.isascii() or any(map(small.__contains__, _DATE_HINTS))


def mask_dates(text: str, mentions: Iterable[DateMention]) -> str:
    """Return a text with its dates replaced by spaces; all other positions stay the same."""
    pieces: list[str] = []
    end = 0
    for span in sorted((one.span for one in mentions), key=lambda span: span.start):
        pieces += [text[end : span.start], " " * (span.end - span.start)]
        end = span.end
    return "".join([*pieces, text[end:]])


def get_month_range(year: int, month: int) -> DateRange:
    """Return the days of a month."""
    import calendar  # deferred: it imports `locale`, which most texts do not need

    return DateRange(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))


def get_year_range(year: int) -> DateRange:
    """Return the days of a year."""
    return DateRange(date(year, 1, 1), date(year, 12, 31))


def build_range(first: date, count: int) -> DateRange:
    """Return a range of `count` days (at least one) that starts at a day."""
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
    """Return the year, month or day; None if the calendar has no such day."""
    if month is None:
        return get_year_range(year)
    if month not in MONTHS.values():
        return None
    month_range = get_month_range(year, month)
    if day is None:
        return month_range
    return build_range(date(year, month, day), 1) if day <= month_range.count_days else None


# --- Relative dates


_DAY_OFFSETS = {
    **dict.fromkeys(("today", "tonight", "heute", "now"), 0),
    **dict.fromkeys(("yesterday", "last night", "gestern"), -1),
    **dict.fromkeys(("tomorrow", "morgen"), 1),
    **dict.fromkeys(("the day before yesterday", "day before yesterday", "vorgestern"), -2),
    **dict.fromkeys(("the day after tomorrow", "übermorgen"), 2),
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday montag",
            "tuesday dienstag",
            "wednesday mittwoch",
            "thursday donnerstag",
            "friday freitag",
            "saturday samstag sonnabend",
            "sunday sonntag",
        )
    )
    for name in names.split()
}
"""Weekday names in lower case; Monday is 0."""

_SEASONS = {
    **dict.fromkeys(("spring", "frühling", "frühjahr"), 3),
    **dict.fromkeys(("summer", "sommer"), 6),
    **dict.fromkeys(("autumn", "fall", "herbst"), 9),
    "winter": 12,
}
_UNITS = {
    **dict.fromkeys(("day", "days", "tag", "tage", "tagen"), "day"),
    **dict.fromkeys(("week", "weeks", "woche", "wochen"), "week"),
    **dict.fromkeys(("weekend", "weekends", "wochenende", "wochenenden"), "weekend"),
    **dict.fromkeys(("month", "months", "monat", "monate", "monaten"), "month"),
    **dict.fromkeys(("year", "years", "jahr", "jahre", "jahren"), "year"),
}
_MAX_UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 31, "year": 366}
_SHIFTS = {
    **dict.fromkeys(("last", "past", "previous", "letzt", "vorig", "vergangen"), -1),
    **dict.fromkeys(("this", "current", "dies", "laufend"), 0),
    **dict.fromkeys(("next", "coming", "following", "nächst", "kommend"), 1),
}
_COUNTS = {
    **{word: (number, number) for word, number in NUMBER_WORD_VALUES.items()},
    **dict.fromkeys(("a", "an", "einem", "einer", "einen"), (1, 1)),
    **dict.fromkeys(("couple of", "a couple of"), (2, 3)),
    **dict.fromkeys(("few", "a few", "several", "paar", "ein paar", "einigen"), (2, 7)),
}


def _match_any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_COUNT = rf"(?P<count>\d{{1,3}}|{_match_any(_COUNTS)})"
_UNIT = rf"(?P<unit>{_match_any(_UNITS)})"
_SINGLE_DAY = re.compile(rf"\b({_match_any(_DAY_OFFSETS)})\b")
_AGO = re.compile(rf"\b{_COUNT}\s+{_UNIT}\s+ago\b")
_AGO_DE = re.compile(rf"\bvor\s+{_COUNT}\s+{_UNIT}\b")
_AHEAD = re.compile(rf"\bin\s+{_COUNT}\s+{_UNIT}\b")
_SHIFTED_UNIT = re.compile(rf"\b(?P<step>{_match_any(_SHIFTS)})(?:e[mnrs]?)?\s+{_UNIT}\b")
_WEEKDAY = re.compile(rf"\b({_match_any(WEEKDAYS)})s?\b")
_MONTH_NAME = re.compile(rf"\b({_match_any(MONTHS)})\b")
_SEASON = re.compile(rf"\b({_match_any(_SEASONS)})\b")
_PAST = rf"(?:{_match_any(name for name, step in _SHIFTS.items() if step < 0)})(?:e[mnrs]?)?"
_NOT_OF = r"(?!\s+(?:of|in|at|on|der|des|im|vom|von|am)\b)"
""""The last week of the course" may be any week."""
_LAST_UNIT = re.compile(rf"\b(?P<which>{_PAST})\s+{_UNIT}\b{_NOT_OF}")
_LAST_UNITS = re.compile(rf"\b{_PAST}\s+{_COUNT}\s+{_UNIT}\b")
_LAST_NAMED = re.compile(rf"\b{_PAST}\s+(?P<name>{_match_any((*WEEKDAYS, *MONTHS, *_SEASONS))})\b")
_DAY_OF_MONTH = re.compile(r"\b(?:the|am)\s+([12]?\d|3[01])(?:st|nd|rd|th|\.)")

# Far enough from the ends of the calendar for any step of up to three digits.
_FIRST_YEAR, _LAST_YEAR = 1_001, 8_999


def resolve_dates(text: str, reference_date: date) -> tuple[DateRange, ...]:
    """Return all days that a text may refer to, by absolute and relative dates.

    The reference date is always included. Relative days, months and years count as a whole. A
    weekday, month or season without a year resolves to those before and after the reference date.

    Args:
        text: Any text.
        reference_date: The day on which the text was said.
    """
    if not _FIRST_YEAR < reference_date.year < _LAST_YEAR:
        return (build_range(reference_date, 1),)
    mentions = list(find_dates(text, range(reference_date.year - 1, reference_date.year + 2)))
    days = [build_range(reference_date, 1), *(days for one in mentions for days in one.ranges)]
    # Mask absolute dates, or the "May" of "8 May 2023" would match any May.
    return tuple(
        dict.fromkeys([*days, *_resolve_mentioned(mask_dates(text, mentions), reference_date)])
    )


def resolve_past_dates(text: str, query_date: date) -> tuple[DateRange, ...]:
    """Return the past days that a question refers to, ordered by the form of the expression.

    "Today", "this week" and "on Monday" are ignored: questions about plans use them as often, and a
    wrong date filter is worse than none. A week starts on the Sunday before its Monday, so that it
    is complete in either calendar.

    Args:
        text: Any text.
        query_date: The day of the question.
    """
    if not _FIRST_YEAR < query_date.year < _LAST_YEAR:
        return ()
    ranges = [*_resolve_past(text.lower(), query_date)]
    return tuple(dict.fromkeys(days for days in ranges if days.first <= query_date))


def _resolve_past(lower: str, query_date: date) -> Iterator[DateRange]:
    for match in _SINGLE_DAY.finditer(lower):
        if _DAY_OFFSETS[match[1]] < 0:
            yield build_range(query_date + timedelta(days=_DAY_OFFSETS[match[1]]), 1)
    for form in (_AGO, _AGO_DE):
        for match in form.finditer(lower):
            low, high = _parse_count(match["count"])
            yield from (
                _get_whole_unit(match["unit"], -number, query_date)
                for number in range(low, high + 1)
            )
    for match in _LAST_UNIT.finditer(lower):
        yield from _resolve_last_unit(match["which"], match["unit"], query_date)
    for match in _LAST_UNITS.finditer(lower):
        yield _get_range_until(query_date, _parse_count(match["count"])[1], match["unit"])
    for match in _LAST_NAMED.finditer(lower):
        yield _get_last_named(match["name"], query_date)


def _resolve_last_unit(adjective: str, unit: str, query_date: date) -> Iterator[DateRange]:
    """Yield the days of "last week" or "the past week"; nothing for "the last day" of something."""
    if adjective == "past":
        yield _get_range_until(query_date, 1, unit)
    elif _UNITS[unit] != "day":
        yield _get_whole_unit(unit, -1, query_date)


def _get_range_until(query_date: date, count: int, unit: str) -> DateRange:
    """Return the range of `count` units that ends at the query date."""
    back = min(count * _MAX_UNIT_DAYS[_UNITS[unit]], query_date.toordinal() - 1)
    return DateRange(query_date - timedelta(days=back), query_date)


def _get_whole_unit(unit: str, step: int, query_date: date) -> DateRange:
    """Return the whole day, week, weekend, month or year that is `step` units away."""
    days = next(_shift_unit(_UNITS[unit], step, query_date), build_range(query_date, 1))
    return DateRange(days.first - timedelta(days=1), days.last) if _UNITS[unit] == "week" else days


def _get_last_named(name: str, query_date: date) -> DateRange:
    """Return the latest weekday, month or season of that name that ended before the query date."""
    if name in WEEKDAYS:
        return build_range(
            query_date - timedelta(days=(query_date.weekday() - WEEKDAYS[name] - 1) % 7 + 1), 1
        )
    years = (query_date.year - back for back in (0, 1, 2))
    candidates = (
        (
            get_month_range(year, MONTHS[name])
            if name in MONTHS
            else _get_season(year, _SEASONS[name])
        )
        for year in years
    )
    return next(days for days in candidates if days.last < query_date)


def _parse_count(count: str) -> tuple[int, int]:
    return (int(count), int(count)) if count.isdigit() else _COUNTS[count]


def _resolve_mentioned(text: str, reference_date: date) -> Iterator[DateRange]:
    lower = text.lower()
    for match in _SINGLE_DAY.finditer(lower):
        yield build_range(reference_date + timedelta(days=_DAY_OFFSETS[match[1]]), 1)
    for form, sign in ((_AGO, -1), (_AGO_DE, -1), (_AHEAD, 1)):
        for match in form.finditer(lower):
            yield from _resolve_counted(match["count"], match["unit"], sign, reference_date)
    for match in _SHIFTED_UNIT.finditer(lower):
        yield from _shift_unit(_UNITS[match["unit"]], _SHIFTS[match["step"]], reference_date)
    for match in _WEEKDAY.finditer(lower):
        yield from _get_nearby_weekdays(WEEKDAYS[match[1]], reference_date)
    for match in _MONTH_NAME.finditer(lower):
        yield from (
            get_month_range(reference_date.year + step, MONTHS[match[1]]) for step in (-1, 0, 1)
        )
    for match in _SEASON.finditer(lower):
        yield from (
            _get_season(reference_date.year + step, _SEASONS[match[1]]) for step in (-1, 0, 1)
        )
    for match in _DAY_OF_MONTH.finditer(lower):
        yield from _get_nearby_days_of_month(int(match[1]), reference_date)


def _resolve_counted(count: str, unit: str, sign: int, reference_date: date) -> Iterator[DateRange]:
    low, high = _parse_count(count)
    for number in range(low, high + 1):
        yield from _shift_unit(_UNITS[unit], sign * number, reference_date)


def _shift_unit(unit: str, step: int, reference_date: date) -> Iterator[DateRange]:
    """Yield the day, week, weekend, month or year that is `step` units away."""
    monday = reference_date - timedelta(days=reference_date.weekday())
    month = reference_date.year * 12 + reference_date.month - 1 + step
    year = reference_date.year + step
    if unit == "day":
        yield build_range(reference_date + timedelta(days=step), 1)
    elif unit == "week":
        yield build_range(monday + timedelta(weeks=step), 7)
        yield build_range(reference_date + timedelta(weeks=step), 1)
    elif unit == "weekend":
        yield build_range(monday + timedelta(weeks=step, days=5), 2)
    elif unit == "month" and _FIRST_YEAR < month // 12 < _LAST_YEAR:
        yield get_month_range(month // 12, month % 12 + 1)
    elif unit == "year" and _FIRST_YEAR < year < _LAST_YEAR:
        yield get_year_range(year)


def _get_nearby_weekdays(weekday: int, reference_date: date) -> Iterator[DateRange]:
    """Yield the next such weekday, which may be the reference date, and two before and after it."""
    next_weekday = reference_date + timedelta(days=(weekday - reference_date.weekday()) % 7)
    for week in (-2, -1, 0, 1, 2):
        yield build_range(next_weekday + timedelta(weeks=week), 1)


def _get_season(year: int, month: int) -> DateRange:
    last = (
        get_month_range(year, month + 2) if month < MONTHS["dec"] else get_month_range(year + 1, 2)
    )
    return DateRange(date(year, month, 1), last.last)


def _get_nearby_days_of_month(day: int, reference_date: date) -> Iterator[DateRange]:
    for step in (-1, 0, 1):
        month = next(_shift_unit("month", step, reference_date))
        if 1 <= day <= month.count_days:
            yield build_range(month.first.replace(day=day), 1)
