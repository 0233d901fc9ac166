"""What "yesterday" and "last week" mean on the day they are said, English and German.

`dates_meant` is generous on purpose: where a phrase can mean two days both are given, for these are
the dates that a text may stand for, not the one that it does. `days_past` is strict: it is for
questions, and takes only what can be nothing but past.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

from memolith.text.dates import (
    MONTHS,
    Days,
    days_from,
    month_of,
    named_dates,
    without_dates,
    year_of,
)
from memolith.text.figures import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SINGLE = {
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
_LONGEST = {"day": 1, "week": 7, "weekend": 7, "month": 31, "year": 366}
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
_PAST = rf"(?:{_one_of(name for name, step in _STEPS.items() if step < 0)})(?:e[mnrs]?)?"
_NOT_OF = r"(?!\s+(?:of|in|at|on|der|des|im|vom|von|am)\b)"
"""The last week of a course may be any week."""
_LAST_UNIT = re.compile(rf"\b(?P<which>{_PAST})\s+{_UNIT}\b{_NOT_OF}")
_LAST_UNITS = re.compile(rf"\b{_PAST}\s+{_COUNT}\s+{_UNIT}\b")
_LAST_NAMED = re.compile(rf"\b{_PAST}\s+(?P<name>{_one_of((*WEEKDAYS, *MONTHS, *_SEASONS))})\b")
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


def days_past(text: str, asked: date) -> tuple[Days, ...]:
    """Return the past days that a question means, in the order of their forms.

    "Today", "this week" and "on Monday" mean none: they are asked of plans as often, and a question
    held to no time is better off than one held to the wrong one. A week begins on the Sunday before
    the Monday it begins on, so that it is the whole week by either calendar.

    Args:
        text: Anything.
        asked: The day it is asked.
    """
    if not _FIRST_YEAR < asked.year < _LAST_YEAR:
        return ()
    found = [*_past(text.lower(), asked)]
    return tuple(dict.fromkeys(days for days in found if days.first <= asked))


def _past(lower: str, asked: date) -> Iterator[Days]:
    for match in _SINGLE_DAY.finditer(lower):
        if _SINGLE[match[1]] < 0:
            yield days_from(asked + timedelta(days=_SINGLE[match[1]]), 1)
    for form in (_AGO, _AGO_DE):
        for match in form.finditer(lower):
            least, most = _count(match["count"])
            yield from (_whole(match["unit"], -number, asked) for number in range(least, most + 1))
    for match in _LAST_UNIT.finditer(lower):
        yield from _last_unit(match["which"], match["unit"], asked)
    for match in _LAST_UNITS.finditer(lower):
        yield _up_to(asked, _count(match["count"])[1], match["unit"])
    for match in _LAST_NAMED.finditer(lower):
        yield _last_named(match["name"], asked)


def _last_unit(which: str, unit: str, asked: date) -> Iterator[Days]:
    """Yield the days of "last week", or of "the past week"; none of "the last day" of whatever."""
    if which == "past":
        yield _up_to(asked, 1, unit)
    elif _UNITS[unit] != "day":
        yield _whole(unit, -1, asked)


def _up_to(asked: date, count: int, unit: str) -> Days:
    """Return the days of so many units that end with a day."""
    back = min(count * _LONGEST[_UNITS[unit]], asked.toordinal() - 1)
    return Days(asked - timedelta(days=back), asked)


def _whole(unit: str, step: int, asked: date) -> Days:
    """Return the day, week, weekend, month or year so many steps away, as a whole."""
    days = next(_stepped(_UNITS[unit], step, asked), days_from(asked, 1))
    return Days(days.first - timedelta(days=1), days.last) if _UNITS[unit] == "week" else days


def _last_named(name: str, asked: date) -> Days:
    """Return the last weekday, month or season of a name that is over, or has begun, before."""
    if name in WEEKDAYS:
        return days_from(asked - timedelta(days=(asked.weekday() - WEEKDAYS[name] - 1) % 7 + 1), 1)
    years = (asked.year - back for back in (0, 1, 2))
    named = (
        (month_of(year, MONTHS[name]) if name in MONTHS else _season(year, _SEASONS[name]))
        for year in years
    )
    return next(days for days in named if days.last < asked)


def _count(count: str) -> tuple[int, int]:
    return (int(count), int(count)) if count.isdigit() else _COUNTS[count]


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
    least, most = _count(count)
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
