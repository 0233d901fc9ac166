"""Comparing two values of one attribute: the same, surely another, or not to be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from memolith.policies.changing.figures import (
    compare_addresses,
    compare_ages,
    compare_contacts,
    compare_counts,
    compare_dates,
    compare_measures,
    compare_times,
)
from memolith.policies.changing.likeness import ValueComparison, split_words
from memolith.policies.changing.names import (
    compare_full_names,
    compare_nicknames,
    compare_organisations,
    compare_people,
    compare_places,
    compare_schools,
)
from memolith.policies.changing.things import (
    compare_choices,
    compare_colours,
    compare_company,
    compare_diets,
    compare_favourites,
    compare_makes,
    compare_marriages,
    compare_occupations,
    compare_pronouns,
    compare_things,
)
from memolith.policies.changing.times import is_included, parse_when
from memolith.text.lists import word_set
from memolith.text.statements.vocabulary import WELL_KNOWN_ORGANISATIONS

_NEGATIONS = word_set("not no never none nicht kein keine keinen nie")


class _ChangeComparator(Protocol):
    """Compares values where it matters whether it is said that something has changed."""

    def __call__(self, old: str, new: str, *, marked: bool) -> ValueComparison: ...


_COMPARATORS: Mapping[str, Callable[[str, str], ValueComparison]] = MappingProxyType(
    {
        "organisation": compare_organisations,
        "school": compare_schools,
        "occupation": compare_occupations,
        "thing": compare_things,
        "date": compare_dates,
        "marriage": compare_marriages,
        "contact": compare_contacts,
        "address": compare_addresses,
        "make": compare_makes,
        "color": compare_colours,
        "pronouns": compare_pronouns,
        "company": compare_company,
        "count": compare_counts,
    }
)
_CHANGE_COMPARATORS: Mapping[str, _ChangeComparator] = MappingProxyType(
    {
        "place": compare_places,
        "age": compare_ages,
        "when": compare_times,
        "full name": compare_full_names,
        "person": compare_people,
        "nickname": compare_nicknames,
        "diet": compare_diets,
        "choice": compare_choices,
        "measure": compare_measures,
    }
)
_FAVOURITE = "best"
"""What somebody likes best: of which kind its values are, what it is about says."""

COMPARABLE_KINDS = frozenset({*_COMPARATORS, *_CHANGE_COMPARATORS, _FAVOURITE})
"""The kinds of values that can be compared."""


def compare(kind: str, old: str, new: str, *, marked: bool, detail: str = "") -> ValueComparison:
    """Return how two values stand to each other.

    Args:
        kind: Of which kind both are; one of `KINDS`.
        old: The value that is known.
        new: The value that is told.
        marked: Whether it is said that something has changed.
        detail: What the attribute is about ("favorite color").
    """
    if not _NEGATIONS.isdisjoint(split_words(f"{old} {new}")):
        return ValueComparison.UNSURE
    if kind == _FAVOURITE and detail.endswith(_COLOUR_SUFFIXES):
        return compare_colours(old, new)
    if kind == _FAVOURITE and detail.endswith(_PLACE_SUFFIXES):
        return compare_places(old, new, marked=marked)
    if kind == _FAVOURITE:
        return compare_favourites(old, new, detail=detail, marked=marked)
    if kind in _CHANGE_COMPARATORS:
        return _CHANGE_COMPARATORS[kind](old, new, marked=marked)
    return _COMPARATORS[kind](old, new)


_COLOUR_SUFFIXES = (" color", "lieblingsfarbe")
_PLACE_SUFFIXES = (" city", " country", "lieblingsstadt", "lieblingsland")


def is_value(kind: str, text: str, detail: str = "") -> bool:
    """Tell whether a text is a value of a kind at all."""
    return compare(kind, text, text, marked=False, detail=detail) is ValueComparison.SAME


def is_well_known(kind: str, value: str) -> bool:
    """Tell whether it is known what a value names, so that it names nothing of another kind."""
    return kind != "organisation" or " " in value or value.casefold() in WELL_KNOWN_ORGANISATIONS


def is_former(kind: str, known: str, former: str, detail: str = "") -> bool:
    """Tell whether a value that is known is the one that something had before."""
    if kind == "when":
        one, other = parse_when(known), parse_when(former) or parse_when(f"at {former}")
        return one is not None and other is not None and is_included(other, one)
    return compare(kind, known, former, marked=True, detail=detail) is ValueComparison.SAME
