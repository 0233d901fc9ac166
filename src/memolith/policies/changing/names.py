"""Comparing names: of places, organisations, schools, people."""

from __future__ import annotations

from memolith.policies.changing.likeness import Likeness, likeness, words_of
from memolith.policies.changing.people import (
    another_full_name,
    another_person,
    is_person,
    is_told_apart,
)
from memolith.text.lists import listed
from memolith.text.statements.kinds import FIRST_NAMES
from memolith.text.statements.places import are_apart, are_of_one_level, is_same_place, place
from memolith.text.statements.vocabulary import NO_PERSONS, ORGANISATIONS

_CONNECTING = listed("of the & de du la der die das des am")
_IN_PLACES = listed("of the upon de del la le les am an der den im und y do da dos saint")
"""Words in small letters in names of places: "Stratford upon Avon"."""

_SEVERAL = 2
_PARTS = listed(
    """
    department faculty institute office division team lab laboratory centre center branch campus
    airport airfield valley street hill wharf park plaza tower mall station heathrow gatwick jfk
    headquarters store shop clinic ward library unit section chair group agency plant factory
    """
)
"""What an organisation has, or may be called by those who work there."""


def compared_places(old: str, new: str, *, marked: bool) -> Likeness:
    """Compare places; see `values.compare`."""
    one, other = place(_bare(old)), place(_bare(new))
    is_clear = marked or are_of_one_level(_bare(old), _bare(new))
    if one is None or other is None:
        is_name = _is_all_names(_bare(old)) and "," not in old
        return likeness(same=is_name and words_of(old) == words_of(new), other=False)
    return likeness(same=is_same_place(one, other), other=is_clear and are_apart(one, other))


def _is_all_names(text: str) -> bool:
    """Tell whether a text is a name and nothing behind it: "Bergen next year" is none."""
    words = text.removeprefix("the ").split()
    return bool(words) and all(
        word[0].isupper() or (at > 0 and word in _IN_PLACES) for at, word in enumerate(words)
    )


def _bare(name: str) -> str:
    """Return a place's name without the region after it, where it is known to lie there."""
    city, comma, region = name.partition(", ")
    if not comma:
        return name
    inner, outer = place(city), place(region)
    lies_there = inner is not None and outer is not None and not are_apart(inner, outer)
    return city if lies_there else name


def compared_organisations(old: str, new: str) -> Likeness:
    """Compare organisations; see `values.compare`."""
    if not (_is_organisation(old) and _is_organisation(new)):
        return Likeness.UNSURE
    one, other = words_of(old), words_of(new)
    return likeness(same=old.casefold() == new.casefold() or one == other, other=_apart(one, other))


def compared_schools(old: str, new: str) -> Likeness:
    """Compare schools; see `values.compare`."""
    is_somewhere = place(old) is not None or place(new) is not None  # "I go to Rome"
    if is_somewhere or not (_is_named(old) and _is_named(new)):
        return Likeness.UNSURE
    one, other = words_of(old), words_of(new)
    return likeness(same=one == other, other=_apart(one, other))


def _apart(one: list[str], other: list[str]) -> bool:
    """Tell whether two names of organisations share nothing, be it as initials or as parts."""
    if not one or not other:
        return False
    shares = set(one) & set(other) - _CONNECTING or _begins_as(one[0], other[0])
    of_one = any({" ".join(one), " ".join(other)} <= group for group in ORGANISATIONS)
    return not (shares or of_one or _abbreviates(one, other) or _abbreviates(other, one))


def _begins_as(one: str, other: str) -> bool:
    """Tell whether one word begins as the other is: "Google", "Googleplex"."""
    return one.startswith(other) or other.startswith(one)


def _abbreviates(short: list[str], long: list[str]) -> bool:
    if len(short) != 1 or len(long) < _SEVERAL:
        return False
    initials = "".join(word[0] for word in long)
    without = "".join(word[0] for word in long if word not in _CONNECTING)
    return short[0] in {initials, without} or any(word.startswith(short[0]) for word in long)


def _is_organisation(text: str) -> bool:
    words = words_of(text)
    is_somebody = len(words) == 1 and words[0] in FIRST_NAMES
    return _is_named(text) and place(text) is None and not is_somebody


def _is_named(text: str) -> bool:
    words = text.removeprefix("the ").split()
    is_name = bool(words) and words[0][0].isupper() and "," not in text
    return (
        is_name
        and all(word[0].isupper() or word[0].isdigit() or word in _CONNECTING for word in words)
        and not (NO_PERSONS | _PARTS) & set(words_of(text))
    )


def compared_people(old: str, new: str, *, marked: bool) -> Likeness:
    """Compare people by their names; see `values.compare`."""
    if not (is_person(old) and is_person(new)):
        return Likeness.UNSURE
    another = another_person(old, new) and (marked or (is_told_apart(old) and is_told_apart(new)))
    return likeness(same=words_of(old) == words_of(new), other=another)


def compared_nicknames(old: str, new: str, *, marked: bool) -> Likeness:
    """Compare what somebody wants to be called; see `values.compare`."""
    del marked
    return compared_people(old, new, marked=True)


def compared_full_names(old: str, new: str, *, marked: bool) -> Likeness:
    """Compare full names; see `values.compare`."""
    if not (is_person(old) and is_person(new)):
        return Likeness.UNSURE
    return likeness(
        same=words_of(old) == words_of(new), other=another_full_name(old, new, marked=marked)
    )
