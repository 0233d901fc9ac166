"""Compare values with numbers: times, dates, ages, measures, counts, contacts and addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from memolith.policies.supersession.entities import (
    JOINING_WORDS,
    ValueComparison,
    build_comparison,
    split_words,
)
from memolith.text.lexicon.language import word_set
from memolith.text.statements.places import find_place, is_disjoint, is_same_level
from memolith.text.statements.vocabulary import AGE_STEP, parse_number

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
    """Time and place of an event, as far as stated.

    Attributes:
        weekday: 0 for Monday.
        day: Day of the month.
        month: 1 for January.
        year: With four digits.
        minutes: Minutes since midnight.
        is_exact: Whether the half of the day is known.
        location: A room, floor or city.
        is_recurring: Whether it happens every week.
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
    """Parse time and place of an event; None if any part is not understood."""
    groups: dict[str, str] = {}
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
            or not groups.keys().isdisjoint(_matched_groups(match))
            or not _is_known_city(match)
        ):
            return None
        groups |= _matched_groups(match)
        groups |= {"recurs": "1"} if match[0].startswith(("every ", "each ", "jeden ")) else {}
        rest = rest[match.end() :].removeprefix(",").strip()
    return _build_when(groups)


def _is_at_boundary(match: re.Match[str] | None) -> bool:
    return match is not None and _SEPARATOR.match(match.string, match.end()) is not None


def _is_known_city(match: re.Match[str]) -> bool:
    """Return whether a match names a known city, if it names one; "in winter" does not."""
    city = _matched_groups(match).get("city")
    return city is None or find_place(city) is not None


def _matched_groups(match: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in match.groupdict().items() if value}


def _build_when(groups: dict[str, str]) -> When | None:
    month = groups.get("month")
    minutes, exact = _parse_time(groups)
    places = (f"{name} {groups[name]}" for name in _LOCATION_GROUPS if name in groups)
    when = When(
        weekday=_WEEKDAY.get(groups.get("weekday", "")),
        day=int(groups["day"]) if "day" in groups else None,
        month=None if month is None else _MONTH.get(month) or int(month),
        year=int(groups["year"]) if "year" in groups else None,
        minutes=minutes,
        is_exact=exact,
        location=next(places, None),
        is_recurring="every" in groups or "recurs" in groups,
    )
    return when if when != When() and _is_possible(when) else None


def _is_possible(when: When) -> bool:
    return (
        (when.minutes or 0) < _HOURS * _MINUTES
        and 0 < (when.day or 1) <= _DAYS
        and 0 < (when.month or 1) <= len(_MONTHS)
    )


def _parse_time(groups: dict[str, str]) -> tuple[int | None, bool]:
    if "noon" in groups:
        return (0 if groups["noon"] == "midnight" else _HALF_DAY * _MINUTES), True
    if "hour" not in groups:
        return None, False
    hour, half = int(groups["hour"]), groups.get("half")
    exact = half is not None or hour > _HALF_DAY or hour == 0
    if half is not None:
        hour = hour % _HALF_DAY + (_HALF_DAY if half == "p" else 0)
    return hour * _MINUTES + int(groups.get("minute", 0)), exact


def is_included(part: When, whole: When) -> bool:
    """Return whether `whole` states everything that `part` states."""
    pairs = (
        (value, getattr(whole, each.name))
        for each in fields(When)
        if (value := getattr(part, each.name))
    )
    times = [(part.weekday, whole.weekday), (part.minutes, whole.minutes)]
    return all(one == other for one, other in pairs) and all(
        one is None or one == other for one, other in times
    )


def is_rescheduled(old: When, new: When) -> bool:
    """Return whether both cannot be true, and the new one covers all that the old one states.

    A different day also replaces time and place.
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


# --- Ages, dates, times, measures, counts and addresses


_UNMARKED_AGE_STEP = 5
"""As `AGE_STEP`, without a statement that time has passed."""

_MAX_AGE_YEARS = 120
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"[+(]?\d[\d ()/.-]{3,}\d")
_HANDLE = re.compile(r"@?[\w.-]*\d*[\w.-]+")
_LOCAL_NUMBER_DIGITS = 7
_STREETS = MappingProxyType(
    {"st": "street", "ave": "avenue", "rd": "road", "ln": "lane", "dr": "drive", "sq": "square"}
)
_BUILDING_PARTS = word_set("flat apartment apt room floor unit suite house")
_STREET_WORDS = word_set("street avenue road lane drive square way court place close boulevard")
_MEASURE = re.compile(r"(?P<sign>[€$£]?)(?P<number>\d+(?:,\d{3})*(?:\.\d+)?) ?(?P<unit>[\w%€$£ ]*)")
_UNITS = MappingProxyType(
    {"€": "euros", "$": "dollars", "£": "pounds", "euro": "euros", "eur": "euros",
     "kilos": "kg", "kilograms": "kg", "kilo": "kg", "centimetres": "cm", "centimeters": "cm",
     "pound": "pounds", "lbs": "pounds", "lb": "pounds"}
)  # fmt: skip


def compare_ages(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare ages; see `relation.compare`."""
    one, other = _parse_age(old), _parse_age(new)
    if one is None or other is None:
        return ValueComparison.UNSURE
    older = 0 < other - one <= (AGE_STEP if is_change else _UNMARKED_AGE_STEP)
    return build_comparison(same=one == other, other=older)


def _parse_age(text: str) -> int | None:
    lower = text.casefold().removesuffix(" years old").removesuffix(" jahre alt")
    years = parse_number(lower)
    return years if years is not None and 0 < years < _MAX_AGE_YEARS else None


def compare_dates(old: str, new: str) -> ValueComparison:
    """Compare dates; see `relation.compare`."""
    one, other = parse_when(old), parse_when(new)
    if one is None or other is None or not (_is_date(one) and _is_date(other)):
        return ValueComparison.UNSURE
    same = (one.day, one.month) == (other.day, other.month)
    is_same_year = one.year in {None, other.year} or other.year is None
    return build_comparison(
        same=same and one.year == other.year, other=not same or not is_same_year
    )


def _is_date(when: When) -> bool:
    """Return whether only a day and a month are given, and perhaps a year."""
    rest = replace(when, day=None, month=None, year=None)
    return None not in {when.day, when.month} and rest == When()


def compare_times(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare times of events; see `relation.compare`."""
    one, other = parse_when(old), parse_when(new)
    if one is None or other is None:
        return ValueComparison.UNSURE
    another_year = None not in {one.year, other.year} and one.year != other.year
    if one.is_recurring or other.is_recurring or another_year:  # an annual event is true of both
        return build_comparison(same=one == other, other=is_change and is_rescheduled(one, other))
    return build_comparison(same=one == other, other=is_rescheduled(one, other))


def compare_contacts(old: str, new: str) -> ValueComparison:
    """Compare e-mail addresses, phone numbers or handles; see `relation.compare`."""
    if _EMAIL.fullmatch(old) and _EMAIL.fullmatch(new):
        return build_comparison(same=old.lower() == new.lower(), other=old.lower() != new.lower())
    if _PHONE.fullmatch(old) and _PHONE.fullmatch(new):
        one, other = re.sub(r"\D", "", old), re.sub(r"\D", "", new)
        other_end = one[-_LOCAL_NUMBER_DIGITS:] != other[-_LOCAL_NUMBER_DIGITS:]
        return build_comparison(same=one == other, other=other_end)
    if old.isdigit() and new.isdigit():
        return build_comparison(same=old == new, other=True)
    if old.startswith("@") and new.startswith("@") and _HANDLE.fullmatch(old):
        return build_comparison(same=old == new, other=old.casefold() != new.casefold())
    return ValueComparison.UNSURE


def compare_addresses(old: str, new: str) -> ValueComparison:
    """Compare street addresses; see `relation.compare`."""
    one, other = _parse_address(old), _parse_address(new)
    if one is None or other is None:
        return ValueComparison.UNSURE
    if one == other:
        return ValueComparison.SAME
    numbers = _filter_numbers(one) & _filter_numbers(other)
    names = (set(one) & set(other)) - _STREET_WORDS - numbers
    is_elsewhere = not numbers and not names
    return build_comparison(same=False, other=is_elsewhere)


def _filter_numbers(words: list[str]) -> set[str]:
    return {word for word in words if word[0].isdigit()}


def _parse_address(text: str) -> list[str] | None:
    words = [
        _STREETS.get(word, word) for word in split_words(text.replace(",", " ").replace(".", " "))
    ]
    named = [word for word in words if not word[0].isdigit() and len(word) > 1]
    if not named or not _filter_numbers(words) or set(words) & (JOINING_WORDS | _BUILDING_PARTS):
        return None
    is_name = all(word[0].isupper() or word[0].isdigit() for word in text.split())
    return words if is_name else None


def compare_measures(old: str, new: str, *, is_change: bool) -> ValueComparison:
    """Compare measures; see `relation.compare`.

    Without an explicit change, both must have a unit and a similar magnitude, and neither may be
    the other one rounded.
    """
    one, other = _parse_measure(old), _parse_measure(new)
    if one is None or other is None or one[1] != other[1]:
        return ValueComparison.UNSURE
    is_clear = is_change or (bool(one[1]) and _is_plausible_change(one[0], other[0]))
    return build_comparison(same=one == other, other=is_clear and one[0] != other[0])


def _is_plausible_change(one: float, other: float) -> bool:
    """Return whether one number is a plausible change of the other, not its rounding."""
    low, high = sorted((one, other))
    return (1 + _ROUNDING) * low < high < _MAX_GROWTH * low


_ROUNDING = 0.02
"""Relative error of rounded weights and heights. A guess."""

_MAX_GROWTH = 1.5
"""Larger ratios suggest a typing error, another unit or another person. A guess."""


def _parse_measure(text: str) -> tuple[float, str] | None:
    match = _MEASURE.fullmatch(text)
    if match is None:
        return None
    unit = f"{match['sign']}{match['unit'].strip()}".casefold()
    first, blank, rest = unit.partition(" ")
    number = float(match["number"].replace(",", ""))
    return number, f"{_UNITS.get(first, first)}{blank}{rest.replace('per ', 'a ')}"


_COUNTABLE_NOUNS = word_set(
    """
    child children kid kids son sons daughter daughters brother brothers sister sisters sibling
    siblings grandchild grandchildren grandson grandsons granddaughter granddaughters cat cats dog
    dogs horse horses chicken chickens rabbit rabbits car cars bike bikes employee employees
    """
)


def compare_counts(old: str, new: str) -> ValueComparison:
    """Compare counts of something; see `relation.compare`."""
    one, other = _parse_count(old), _parse_count(new)
    if one is None or other is None or one[1] != other[1]:
        return ValueComparison.UNSURE
    return build_comparison(same=one[0] == other[0], other=one[0] != other[0])


def _parse_count(text: str) -> tuple[int, str] | None:
    """Return a number and the counted noun in the singular."""
    first, _, noun = text.casefold().partition(" ")
    count = 1 if first in {"a", "an"} else parse_number(first)
    singular = _SINGULARS.get(noun, noun.removesuffix("s"))
    if count is None or noun not in _COUNTABLE_NOUNS or (count == 1) != (noun == singular):
        return None
    return count, singular


_SINGULARS = MappingProxyType({"children": "child", "grandchildren": "grandchild"})
