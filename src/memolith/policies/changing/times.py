"""When and where something takes place, in parts that can be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from memolith.text.statements.places import find_place, is_disjoint, is_same_level

_WEEKDAYS = (
    "monday mon montag", "tuesday tue tues dienstag", "wednesday wed mittwoch",
    "thursday thu thurs donnerstag", "friday fri freitag", "saturday sat samstag sonnabend",
    "sunday sun sonntag",
)  # fmt: skip
_MONTHS = (
    "january jan januar jänner", "february feb februar", "march mar märz", "april apr", "may mai",
    "june jun juni", "july jul juli", "august aug", "september sep sept", "october oct oktober",
    "november nov", "december dec dezember dez",
)  # fmt: skip
_WEEKDAY = {name: at for at, names in enumerate(_WEEKDAYS) for name in names.split()}
_MONTH = {name: at for at, names in enumerate(_MONTHS, 1) for name in names.split()}
_ANY_DAY = "|".join(sorted(_WEEKDAY, key=len, reverse=True))
_ANY_MONTH = "|".join(sorted(_MONTH, key=len, reverse=True))

_HOURS = 24
_HALF_DAY = 12
_MINUTES = 60
_DAYS = 31

_YEAR = r"(?:,? (?P<year>(?:19|20)\d\d))?"
_MONTH_NAME = rf"(?P<month>{_ANY_MONTH})\.?"
_TH = "(?:st|nd|rd|th)"
_TIME_PATTERNS = tuple(
    re.compile(part)
    for part in (
        rf"(?:on |am |every |each |jeden )?(?P<weekday>{_ANY_DAY})(?P<every>s?)",
        rf"(?:on |am )?(?:the )?(?P<day>\d{{1,2}})(?:{_TH}|\.)?(?: of)? {_MONTH_NAME}{_YEAR}",
        rf"(?:on |am )?{_MONTH_NAME} (?:the )?(?P<day>\d{{1,2}}){_TH}?{_YEAR}",
        r"(?:on )?(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)",
        r"(?:am )?(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})?",
        rf"(?:in )?(?P<month>{_ANY_MONTH}){_YEAR}",
        rf"(?:on )?the (?P<day>\d{{1,2}}){_TH}",
        r"(?:at |um )?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?: ?(?P<half>[ap])\.?m\.?)?(?: uhr)?",
        r"(?:at |um )?(?P<hour>\d{1,2}) ?(?P<half>[ap])\.?m\.?",
        r"(?:at |um )(?P<hour>\d{1,2})(?: o'clock| uhr)?",
        r"(?P<hour>\d{1,2})(?: o'clock| uhr)",
        r"(?:at )?(?P<noon>noon|midday|midnight)",
        r"in (?:the )?(?:meeting |conference |class)?room (?P<room>[a-z]?\d+[a-z]?)",
        rf"on (?:the )?(?P<floor>\d+|first|second|third|fourth|fifth|sixth){_TH}? floor",
    )
)
_CITY = re.compile(r"in (?P<city>[\w .'-]+)")
_LOCATION_GROUPS = ("room", "floor", "city")
_SEPARATOR = re.compile(r"(?:,? )|$")


@dataclass(frozen=True, slots=True)
class When:
    """When and where something is, as far as it is said.

    Attributes:
        weekday: 0 for Monday.
        day: Of the month.
        month: 1 for January.
        year: With four figures.
        minutes: Of the day.
        exact: Whether it is known which half of the day is meant.
        where: A room, floor or city.
        recurs: Whether it is so every week.
    """

    weekday: int | None = None
    day: int | None = None
    month: int | None = None
    year: int | None = None
    minutes: int | None = None
    is_exact: bool = False
    location: str | None = None
    is_recurring: bool = False


def parse_when(text: str) -> When | None:
    """Return what a text says of when something is; None where any of it is not understood."""
    found: dict[str, str] = {}
    rest = text.lower().strip()
    while rest:
        match = next(
            (
                m
                for m in (part.match(rest) for part in (*_TIME_PATTERNS, _CITY))
                if _is_at_boundary(m)
            ),
            None,
        )
        if (
            match is None
            or not found.keys().isdisjoint(_matched_groups(match))
            or not _is_known_city(match)
        ):
            return None
        found |= _matched_groups(match)
        found |= {"recurs": "1"} if match[0].startswith(("every ", "each ", "jeden ")) else {}
        rest = rest[match.end() :].removeprefix(",").strip()
    return _build_when(found)


def _is_at_boundary(match: re.Match[str] | None) -> bool:
    return match is not None and _SEPARATOR.match(match.string, match.end()) is not None


def _is_known_city(match: re.Match[str]) -> bool:
    """Tell whether the city is one, where it names one: "in winter" names none."""
    city = _matched_groups(match).get("city")
    return city is None or find_place(city) is not None


def _matched_groups(match: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in match.groupdict().items() if value}


def _build_when(found: dict[str, str]) -> When | None:
    month = found.get("month")
    minutes, exact = _parse_time(found)
    places = (f"{name} {found[name]}" for name in _LOCATION_GROUPS if name in found)
    made = When(
        weekday=_WEEKDAY.get(found.get("weekday", "")),
        day=int(found["day"]) if "day" in found else None,
        month=None if month is None else _MONTH.get(month) or int(month),
        year=int(found["year"]) if "year" in found else None,
        minutes=minutes,
        is_exact=exact,
        location=next(places, None),
        is_recurring="every" in found or "recurs" in found,
    )
    return made if made != When() and _is_possible(made) else None


def _is_possible(made: When) -> bool:
    return (
        (made.minutes or 0) < _HOURS * _MINUTES
        and 0 < (made.day or 1) <= _DAYS
        and 0 < (made.month or 1) <= len(_MONTHS)
    )


def _parse_time(found: dict[str, str]) -> tuple[int | None, bool]:
    if "noon" in found:
        return (0 if found["noon"] == "midnight" else _HALF_DAY * _MINUTES), True
    if "hour" not in found:
        return None, False
    hour, half = int(found["hour"]), found.get("half")
    exact = half is not None or hour > _HALF_DAY or hour == 0
    if half is not None:
        hour = hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)
    return hour * _MINUTES + int(found.get("minute", 0)), exact


def is_included(part: When, whole: When) -> bool:
    """Tell whether all that one says the other says too."""
    said = (
        (value, getattr(whole, each.name))
        for each in fields(When)
        if (value := getattr(part, each.name))
    )
    pairs = [(part.weekday, whole.weekday), (part.minutes, whole.minutes)]
    return all(one == other for one, other in said) and all(
        one is None or one == other for one, other in pairs
    )


def is_rescheduled(old: When, new: When) -> bool:
    """Tell whether the new one can't be true while the old one is, and says all that it said.

    Another day moves what is said of the time and place of the day too.
    """
    if old.is_recurring != new.is_recurring:
        return False
    days = _differs(old.weekday, new.weekday) or _is_another_date(old, new)
    if days:
        return True
    covered = (old.weekday, old.day, old.month) == (new.weekday, new.day, new.month)
    hours = _is_another_time(old, new)
    if hours:
        return covered and (old.location is None or new.location is not None)
    timed = old.minutes is None or new.minutes is not None
    return covered and timed and _is_elsewhere(old.location, new.location)


def _differs(old: object, new: object) -> bool:
    return old is not None and new is not None and old != new


def _is_another_date(old: When, new: When) -> bool:
    if _differs(old.month, new.month) or _differs(old.year, new.year):
        return True
    return _differs(old.day, new.day) and (old.month is None) == (new.month is None)


def _is_another_time(old: When, new: When) -> bool:
    if old.minutes is None or new.minutes is None:
        return False
    if old.is_exact and new.is_exact:
        return old.minutes != new.minutes
    half = _HALF_DAY * _MINUTES
    return old.minutes % half != new.minutes % half


def _is_elsewhere(old: str | None, new: str | None) -> bool:
    if old is None or new is None or old == new:
        return False
    kinds = old.split(" ")[0], new.split(" ")[0]
    if kinds != ("city", "city"):
        return kinds[0] == kinds[1]
    old, new = old.removeprefix("city "), new.removeprefix("city ")
    one, other = find_place(old), find_place(new)
    if one is None or other is None:
        return False
    return is_same_level(old, new) and is_disjoint(one, other)
