"""What "yesterday" and "last week" mean on the day they are said, English and German.

Generous on purpose: where a phrase can mean two days both are given, for these are the dates that
a text may stand for, not the one that it does.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from mnemon.text.dates import MONTHS, Days, days_from, month_of, named_dates, without_dates, year_of
from mnemon.text.figures import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SINGLE = {
    **dict.fromkeys(("today", "tonight", "heute", "now"), 0),
    **dict.fromkeys(("yesterday", "last night", "gestern"), -1),
    **dict.fromkeys(("tomorrow", "morgen"), 1),
    **dict.fromkeys(("the day before yesterday", "vorgestern"), -2),
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
"""Names of weekdays in small letters; Monday is 0."""

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
_STEPS = {
    **dict.fromkeys(("last", "past", "previous", "letzt", "vorig", "vergangen"), -1),
    **dict.fromkeys(("this", "current", "dies", "laufend"), 0),
    **dict.fromkeys(("next", "coming", "following", "nächst", "kommend"), 1),
}
_COUNTS = {
    **{word: (number, number) for word, number in WORDS.items()},
    **dict.fromkeys(("a", "an", "einem", "einer", "einen"), (1, 1)),
    **dict.fromkeys(("couple of", "a couple of"), (2, 3)),
    **dict.fromkeys(("few", "a few", "several", "paar", "ein paar", "einigen"), (2, 7)),
}


def _one_of(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_COUNT = rf"(?P<count>\d{{1,3}}|{_one_of(_COUNTS)})"
_UNIT = rf"(?P<unit>{_one_of(_UNITS)})"
_SINGLE_DAY = re.compile(rf"\b({_one_of(_SINGLE)})\b")
_AGO = re.compile(rf"\b{_COUNT}\s+{_UNIT}\s+ago\b")
_AGO_DE = re.compile(rf"\bvor\s+{_COUNT}\s+{_UNIT}\b")
_AHEAD = re.compile(rf"\bin\s+{_COUNT}\s+{_UNIT}\b")
_STEPPED = re.compile(rf"\b(?P<step>{_one_of(_STEPS)})(?:e[mnrs]?)?\s+{_UNIT}\b")
_WEEKDAY = re.compile(rf"\b({_one_of(WEEKDAYS)})s?\b")
_MONTH = re.compile(rf"\b({_one_of(MONTHS)})\b")
_SEASON = re.compile(rf"\b({_one_of(_SEASONS)})\b")
_DAY_OF_MONTH = re.compile(r"\b(?:the|am)\s+([12]?\d|3[01])(?:st|nd|rd|th|\.)")

# So far from the calendar's ends that no step of three figures leaves it.
_FIRST_YEAR, _LAST_YEAR = 1_001, 8_999


def dates_meant(text: str, said: date) -> tuple[Days, ...]:
    """Return the days that a text may stand for: those it names, and those it means.

    The day it is said is always among them. Days, months and years that it means count as a
    whole; where only a weekday, a month or a season is named, the ones before and after count.

    Args:
        text: Anything.
        said: The day.
    """
    if not _FIRST_YEAR < said.year < _LAST_YEAR:
        return (days_from(said, 1),)
    named = list(named_dates(text, range(said.year - 1, said.year + 2)))
    days = [days_from(said, 1), *(days for one in named for days in one.days)]
    # The May of "8 May 2023" is no other May.
    return tuple(dict.fromkeys([*days, *_meant(without_dates(text, named), said)]))


def _meant(text: str, said: date) -> Iterator[Days]:
    lower = text.lower()
    for match in _SINGLE_DAY.finditer(lower):
        yield days_from(said + timedelta(days=_SINGLE[match[1]]), 1)
    for form, sign in ((_AGO, -1), (_AGO_DE, -1), (_AHEAD, 1)):
        for match in form.finditer(lower):
            yield from _counted(match["count"], match["unit"], sign, said)
    for match in _STEPPED.finditer(lower):
        yield from _stepped(_UNITS[match["unit"]], _STEPS[match["step"]], said)
    for match in _WEEKDAY.finditer(lower):
        yield from _weekdays(WEEKDAYS[match[1]], said)
    for match in _MONTH.finditer(lower):
        yield from (month_of(said.year + step, MONTHS[match[1]]) for step in (-1, 0, 1))
    for match in _SEASON.finditer(lower):
        yield from (_season(said.year + step, _SEASONS[match[1]]) for step in (-1, 0, 1))
    for match in _DAY_OF_MONTH.finditer(lower):
        yield from _days_of_month(int(match[1]), said)


def _counted(count: str, unit: str, sign: int, said: date) -> Iterator[Days]:
    least, most = (int(count), int(count)) if count.isdigit() else _COUNTS[count]
    for number in range(least, most + 1):
        yield from _stepped(_UNITS[unit], sign * number, said)


def _stepped(unit: str, step: int, said: date) -> Iterator[Days]:
    """Yield the day, week, weekend, month or year so many steps away."""
    monday = said - timedelta(days=said.weekday())
    month = said.year * 12 + said.month - 1 + step
    year = said.year + step
    if unit == "day":
        yield days_from(said + timedelta(days=step), 1)
    elif unit == "week":
        yield days_from(monday + timedelta(weeks=step), 7)
        yield days_from(said + timedelta(weeks=step), 1)
    elif unit == "weekend":
        yield days_from(monday + timedelta(weeks=step, days=5), 2)
    elif unit == "month" and _FIRST_YEAR < month // 12 < _LAST_YEAR:
        yield month_of(month // 12, month % 12 + 1)
    elif unit == "year" and _FIRST_YEAR < year < _LAST_YEAR:
        yield year_of(year)


def _weekdays(weekday: int, said: date) -> Iterator[Days]:
    """Yield the two such weekdays before a day, itself, and the two after it."""
    ahead = said + timedelta(days=(weekday - said.weekday()) % 7)
    for week in (-2, -1, 0, 1, 2):
        yield days_from(ahead + timedelta(weeks=week), 1)


def _season(year: int, month: int) -> Days:
    last = month_of(year, month + 2) if month < MONTHS["dec"] else month_of(year + 1, 2)
    return Days(date(year, month, 1), last.last)


def _days_of_month(day: int, said: date) -> Iterator[Days]:
    for step in (-1, 0, 1):
        month = next(_stepped("month", step, said))
        if 1 <= day <= month.count:
            yield days_from(month.first.replace(day=day), 1)
