"""Comparing what has figures in it: ages, dates, times, measures, numbers and addresses."""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType

from memolith.policies.changing.likeness import (
    JOINING_WORDS,
    ValueComparison,
    build_comparison,
    split_words,
)
from memolith.policies.changing.times import When, is_rescheduled, parse_when
from memolith.text.lists import word_set
from memolith.text.statements.numbers import AGE_STEP, parse_number

_UNMARKED_AGE_STEP = 5
"""As `numbers.AGE_STEP`, where it is not said that time has passed."""

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


def compare_ages(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare ages; see `values.compare`."""
    one, other = _parse_age(old), _parse_age(new)
    if one is None or other is None:
        return ValueComparison.UNSURE
    older = 0 < other - one <= (AGE_STEP if marked else _UNMARKED_AGE_STEP)
    return build_comparison(same=one == other, other=older)


def _parse_age(text: str) -> int | None:
    lower = text.casefold().removesuffix(" years old").removesuffix(" jahre alt")
    years = parse_number(lower)
    return years if years is not None and 0 < years < _MAX_AGE_YEARS else None


def compare_dates(old: str, new: str) -> ValueComparison:
    """Compare dates; see `values.compare`."""
    one, other = parse_when(old), parse_when(new)
    if one is None or other is None or not (_is_date(one) and _is_date(other)):
        return ValueComparison.UNSURE
    same = (one.day, one.month) == (other.day, other.month)
    dated = one.year in {None, other.year} or other.year is None
    return build_comparison(same=same and one.year == other.year, other=not same or not dated)


def _is_date(said: When) -> bool:
    """Tell whether it is a day and a month, perhaps with a year, and nothing else."""
    rest = replace(said, day=None, month=None, year=None)
    return None not in {said.day, said.month} and rest == When()


def compare_times(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare times; see `values.compare`."""
    one, other = parse_when(old), parse_when(new)
    if one is None or other is None:
        return ValueComparison.UNSURE
    another_year = None not in {one.year, other.year} and one.year != other.year
    if one.is_recurring or other.is_recurring or another_year:  # what is every year is so in both
        return build_comparison(same=one == other, other=marked and is_rescheduled(one, other))
    return build_comparison(same=one == other, other=is_rescheduled(one, other))


def compare_contacts(old: str, new: str) -> ValueComparison:
    """Compare contacts; see `values.compare`."""
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
    """Compare addresses; see `values.compare`."""
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


def compare_measures(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare measures; see `values.compare`.

    Where it is not said that it has changed, both have a unit, neither is the other rounded, and
    they are of one size.
    """
    one, other = _parse_measure(old), _parse_measure(new)
    if one is None or other is None or one[1] != other[1]:
        return ValueComparison.UNSURE
    is_clear = marked or (bool(one[1]) and _is_plausible_change(one[0], other[0]))
    return build_comparison(same=one == other, other=is_clear and one[0] != other[0])


def _is_plausible_change(one: float, other: float) -> bool:
    """Tell whether one number is another size of the same body, and not the other rounded."""
    low, high = sorted((one, other))
    return (1 + _ROUNDING) * low < high < _MAX_GROWTH * low


_ROUNDING = 0.02
"""How far off people are when they round what they weigh or how tall they are: a guess."""

_MAX_GROWTH = 1.5
"""Beyond this it is rather a slip, another unit or somebody else: a guess."""


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
    """Compare how many one has of something; see `values.compare`."""
    one, other = _parse_count(old), _parse_count(new)
    if one is None or other is None or one[1] != other[1]:
        return ValueComparison.UNSURE
    return build_comparison(same=one[0] == other[0], other=one[0] != other[0])


def _parse_count(text: str) -> tuple[int, str] | None:
    """Return a number and what it counts, in the singular."""
    first, _, things = text.casefold().partition(" ")
    count = 1 if first in {"a", "an"} else parse_number(first)
    singular = _SINGULARS.get(things, things.removesuffix("s"))
    if count is None or things not in _COUNTABLE_NOUNS or (count == 1) != (things == singular):
        return None
    return count, singular


_SINGULARS = MappingProxyType({"children": "child", "grandchildren": "grandchild"})
