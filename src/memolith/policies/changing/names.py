"""Comparing names: of places, organisations, schools, people."""

from __future__ import annotations

from memolith.policies.changing.likeness import ValueComparison, build_comparison, split_words
from memolith.policies.changing.people import (
    are_different_full_names,
    are_different_people,
    is_person,
    is_unambiguous_name,
)
from memolith.text.lists import word_set
from memolith.text.statements.kinds import FIRST_NAMES
from memolith.text.statements.places import find_place, is_disjoint, is_same_level, is_same_place
from memolith.text.statements.vocabulary import NON_PERSON_WORDS, ORGANISATIONS

_NAME_PARTICLES = word_set("of the & de du la der die das des am")
_PLACE_PARTICLES = word_set("of the upon de del la le les am an der den im und y do da dos saint")
"""Words in small letters in names of places: "Stratford upon Avon"."""

_MIN_INITIALS = 2
_ORGANISATION_PARTS = word_set(
    """
    department faculty institute office division team lab laboratory centre center branch campus
    airport airfield valley street hill wharf park plaza tower mall station heathrow gatwick jfk
    headquarters store shop clinic ward library unit section chair group agency plant factory
    """
)
"""What an organisation has, or may be called by those who work there."""


def compare_places(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare places; see `values.compare`."""
    one, other = find_place(_strip_region(old)), find_place(_strip_region(new))
    is_clear = marked or is_same_level(_strip_region(old), _strip_region(new))
    if one is None or other is None:
        is_name = _is_all_names(_strip_region(old)) and "," not in old
        return build_comparison(same=is_name and split_words(old) == split_words(new), other=False)
    return build_comparison(
        same=is_same_place(one, other), other=is_clear and is_disjoint(one, other)
    )


def _is_all_names(text: str) -> bool:
    """Tell whether a text is a name and nothing behind it: "Bergen next year" is none."""
    words = text.removeprefix("the ").split()
    return bool(words) and all(
        word[0].isupper() or (at > 0 and word in _PLACE_PARTICLES) for at, word in enumerate(words)
    )


def _strip_region(name: str) -> str:
    """Return a place's name without the region after it, where it is known to lie there."""
    city, comma, region = name.partition(", ")
    if not comma:
        return name
    inner, outer = find_place(city), find_place(region)
    lies_there = inner is not None and outer is not None and not is_disjoint(inner, outer)
    return city if lies_there else name


def compare_organisations(old: str, new: str) -> ValueComparison:
    """Compare organisations; see `values.compare`."""
    if not (_is_organisation(old) and _is_organisation(new)):
        return ValueComparison.UNSURE
    one, other = split_words(old), split_words(new)
    return build_comparison(
        same=old.casefold() == new.casefold() or one == other,
        other=_are_different_organisations(one, other),
    )


def compare_schools(old: str, new: str) -> ValueComparison:
    """Compare schools; see `values.compare`."""
    is_somewhere = find_place(old) is not None or find_place(new) is not None  # "I go to Rome"
    if is_somewhere or not (_is_named(old) and _is_named(new)):
        return ValueComparison.UNSURE
    one, other = split_words(old), split_words(new)
    return build_comparison(same=one == other, other=_are_different_organisations(one, other))


def _are_different_organisations(one: list[str], other: list[str]) -> bool:
    """Tell whether two names of organisations share nothing, be it as initials or as parts."""
    if not one or not other:
        return False
    shares = set(one) & set(other) - _NAME_PARTICLES or _is_prefix_pair(one[0], other[0])
    of_one = any({" ".join(one), " ".join(other)} <= group for group in ORGANISATIONS)
    return not (shares or of_one or _is_abbreviation(one, other) or _is_abbreviation(other, one))


def _is_prefix_pair(one: str, other: str) -> bool:
    """Tell whether one word begins as the other is: "Google", "Googleplex"."""
    return one.startswith(other) or other.startswith(one)


def _is_abbreviation(short: list[str], long: list[str]) -> bool:
    if len(short) != 1 or len(long) < _MIN_INITIALS:
        return False
    initials = "".join(word[0] for word in long)
    without = "".join(word[0] for word in long if word not in _NAME_PARTICLES)
    return short[0] in {initials, without} or any(word.startswith(short[0]) for word in long)


def _is_organisation(text: str) -> bool:
    words = split_words(text)
    is_somebody = len(words) == 1 and words[0] in FIRST_NAMES
    return _is_named(text) and find_place(text) is None and not is_somebody


def _is_named(text: str) -> bool:
    words = text.removeprefix("the ").split()
    is_name = bool(words) and words[0][0].isupper() and "," not in text
    return (
        is_name
        and all(word[0].isupper() or word[0].isdigit() or word in _NAME_PARTICLES for word in words)
        and not (NON_PERSON_WORDS | _ORGANISATION_PARTS) & set(split_words(text))
    )


def compare_people(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare people by their names; see `values.compare`."""
    if not (is_person(old) and is_person(new)):
        return ValueComparison.UNSURE
    another = are_different_people(old, new) and (
        marked or (is_unambiguous_name(old) and is_unambiguous_name(new))
    )
    return build_comparison(same=split_words(old) == split_words(new), other=another)


def compare_nicknames(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare what somebody wants to be called; see `values.compare`."""
    del marked
    return compare_people(old, new, marked=True)


def compare_full_names(old: str, new: str, *, marked: bool) -> ValueComparison:
    """Compare full names; see `values.compare`."""
    if not (is_person(old) and is_person(new)):
        return ValueComparison.UNSURE
    return build_comparison(
        same=split_words(old) == split_words(new),
        other=are_different_full_names(old, new, marked=marked),
    )
