"""Comparing what has figures in it: ages, dates, times, measures, numbers and addresses."""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType

from memolith.policies.changing.likeness import JOINING, Likeness, likeness, words_of
from memolith.policies.changing.times import When, is_moved, when
from memolith.text.lists import listed
from memolith.text.statements.numbers import AGE_STEP, number

_AGE_STEP = 5
"""As `numbers.AGE_STEP`, where it is not said that time has passed."""

_MOST_YEARS = 120
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"[+(]?\d[\d ()/.-]{3,}\d")
_HANDLE = re.compile(r"@?[\w.-]*\d*[\w.-]+")
_OWN_DIGITS = 7
_STREETS = MappingProxyType(
    {"st": "street", "ave": "avenue", "rd": "road", "ln": "lane", "dr": "drive", "sq": "square"}
)
_PARTS_OF_HOUSES = listed("flat apartment apt room floor unit suite house")
_OF_STREETS = listed("street avenue road lane drive square way court place close boulevard")
_MEASURE = re.compile(r"(?P<sign>[€$£]?)(?P<number>\d+(?:,\d{3})*(?:\.\d+)?) ?(?P<unit>[\w%€$£ ]*)")
_UNITS = MappingProxyType(
    {"€": "euros", "$": "dollars", "£": "pounds", "euro": "euros", "eur": "euros",
     "kilos": "kg", "kilograms": "kg", "kilo": "kg", "centimetres": "cm", "centimeters": "cm",
     "pound": "pounds", "lbs": "pounds", "lb": "pounds"}
)  # fmt: skip


def compared_ages(old: str, new: str, *, marked: bool) -> Likeness:
    """Compare ages; see `values.compare`."""
    one, other = _years(old), _years(new)
    if one is None or other is None:
        return Likeness.UNSURE
    older = 0 < other - one <= (AGE_STEP if marked else _AGE_STEP)
    return likeness(same=one == other, other=older)


def _years(text: str) -> int | None:
    lower = text.casefold().removesuffix(" years old").removesuffix(" jahre alt")
    years = number(lower)
    return years if years is not None and 0 < years < _MOST_YEARS else None


def compared_dates(old: str, new: str) -> Likeness:
    """Compare dates; see `values.compare`."""
    one, other = when(old), when(new)
    if one is None or other is None or not (_is_date(one) and _is_date(other)):
        return Likeness.UNSURE
    same = (one.day, one.month) == (other.day, other.month)
    dated = one.year in {None, other.year} or other.year is None
    return likeness(same=same and one.year == other.year, other=not same or not dated)


def _is_date(said: When) -> bool:
    """Tell whether it is a day and a month, perhaps with a year, and nothing else."""
    rest = replace(said, day=None, month=None, year=None)
    return None not in {said.day, said.month} and rest == When()


def compared_times(old: str, new: str, *, marked: bool) -> Likeness:
    """Compare times; see `values.compare`."""
    one, other = when(old), when(new)
    if one is None or other is None:
        return Likeness.UNSURE
    another_year = None not in {one.year, other.year} and one.year != other.year
    if one.recurs or other.recurs or another_year:  # what is every year is so in both
        return likeness(same=one == other, other=marked and is_moved(one, other))
    return likeness(same=one == other, other=is_moved(one, other))


def compared_contacts(old: str, new: str) -> Likeness:
    """Compare contacts; see `values.compare`."""
    if _EMAIL.fullmatch(old) and _EMAIL.fullmatch(new):
        return likeness(same=old.lower() == new.lower(), other=old.lower() != new.lower())
    if _PHONE.fullmatch(old) and _PHONE.fullmatch(new):
        one, other = re.sub(r"\D", "", old), re.sub(r"\D", "", new)
        other_end = one[-_OWN_DIGITS:] != other[-_OWN_DIGITS:]
        return likeness(same=one == other, other=other_end)
    if old.isdigit() and new.isdigit():
        return likeness(same=old == new, other=True)
    if old.startswith("@") and new.startswith("@") and _HANDLE.fullmatch(old):
        return likeness(same=old == new, other=old.casefold() != new.casefold())
    return Likeness.UNSURE


def compared_addresses(old: str, new: str) -> Likeness:
    """Compare addresses; see `values.compare`."""
    one, other = _address_words(old), _address_words(new)
    if one is None or other is None:
        return Likeness.UNSURE
    if one == other:
        return Likeness.SAME
    numbers = _numbers(one) & _numbers(other)
    names = (set(one) & set(other)) - _OF_STREETS - numbers
    is_elsewhere = not numbers and not names
    return likeness(same=False, other=is_elsewhere)


def _numbers(words: list[str]) -> set[str]:
    return {word for word in words if word[0].isdigit()}


def _address_words(text: str) -> list[str] | None:
    words = [
        _STREETS.get(word, word) for word in words_of(text.replace(",", " ").replace(".", " "))
    ]
    named = [word for word in words if not word[0].isdigit() and len(word) > 1]
    if not named or not _numbers(words) or set(words) & (JOINING | _PARTS_OF_HOUSES):
        return None
    is_name = all(word[0].isupper() or word[0].isdigit() for word in text.split())
    return words if is_name else None


def compared_measures(old: str, new: str, *, marked: bool) -> Likeness:
    """Compare measures; see `values.compare`.

    Where it is not said that it has changed, both have a unit, neither is the other rounded, and
    they are of one size.
    """
    one, other = _measured(old), _measured(new)
    if one is None or other is None or one[1] != other[1]:
        return Likeness.UNSURE
    is_clear = marked or (bool(one[1]) and _may_have_become(one[0], other[0]))
    return likeness(same=one == other, other=is_clear and one[0] != other[0])


def _may_have_become(one: float, other: float) -> bool:
    """Tell whether one number is another size of the same body, and not the other rounded."""
    low, high = sorted((one, other))
    return (1 + _ROUNDING) * low < high < _MOST_GROWTH * low


_ROUNDING = 0.02
"""How far off people are when they round what they weigh or how tall they are: a guess."""

_MOST_GROWTH = 1.5
"""Beyond this it is rather a slip, another unit or somebody else: a guess."""


def _measured(text: str) -> tuple[float, str] | None:
    match = _MEASURE.fullmatch(text)
    if match is None:
        return None
    unit = f"{match['sign']}{match['unit'].strip()}".casefold()
    first, blank, rest = unit.partition(" ")
    number = float(match["number"].replace(",", ""))
    return number, f"{_UNITS.get(first, first)}{blank}{rest.replace('per ', 'a ')}"


_COUNTED = listed(
    """
    child children kid kids son sons daughter daughters brother brothers sister sisters sibling
    siblings grandchild grandchildren grandson grandsons granddaughter granddaughters cat cats dog
    dogs horse horses chicken chickens rabbit rabbits car cars bike bikes employee employees
    """
)


def compared_counts(old: str, new: str) -> Likeness:
    """Compare how many one has of something; see `values.compare`."""
    one, other = _counted(old), _counted(new)
    if one is None or other is None or one[1] != other[1]:
        return Likeness.UNSURE
    return likeness(same=one[0] == other[0], other=one[0] != other[0])


def _counted(text: str) -> tuple[int, str] | None:
    """Return a number and what it counts, in the singular."""
    first, _, things = text.casefold().partition(" ")
    count = 1 if first in {"a", "an"} else number(first)
    singular = _ONE_OF.get(things, things.removesuffix("s"))
    if count is None or things not in _COUNTED or (count == 1) != (things == singular):
        return None
    return count, singular


_ONE_OF = MappingProxyType({"children": "child", "grandchildren": "grandchild"})
