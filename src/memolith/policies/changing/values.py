"""Comparing two values of one attribute: the same, surely another, or not to be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from memolith.policies.changing.figures import (
    compared_addresses,
    compared_ages,
    compared_contacts,
    compared_counts,
    compared_dates,
    compared_measures,
    compared_times,
)
from memolith.policies.changing.likeness import Likeness, words_of
from memolith.policies.changing.names import (
    compared_full_names,
    compared_nicknames,
    compared_organisations,
    compared_people,
    compared_places,
    compared_schools,
)
from memolith.policies.changing.things import (
    compared_best,
    compared_choices,
    compared_colours,
    compared_company,
    compared_diets,
    compared_makes,
    compared_marriages,
    compared_occupations,
    compared_pronouns,
    compared_things,
)
from memolith.policies.changing.times import is_part, when
from memolith.text.lists import listed
from memolith.text.statements.vocabulary import WELL_KNOWN

_NEGATIONS = listed("not no never none nicht kein keine keinen nie")


class _Marked(Protocol):
    """Compares values where it matters whether it is said that something has changed."""

    def __call__(self, old: str, new: str, *, marked: bool) -> Likeness: ...


_PLAIN: Mapping[str, Callable[[str, str], Likeness]] = MappingProxyType(
    {
        "organisation": compared_organisations,
        "school": compared_schools,
        "occupation": compared_occupations,
        "thing": compared_things,
        "date": compared_dates,
        "marriage": compared_marriages,
        "contact": compared_contacts,
        "address": compared_addresses,
        "make": compared_makes,
        "color": compared_colours,
        "pronouns": compared_pronouns,
        "company": compared_company,
        "count": compared_counts,
    }
)
_MARKED: Mapping[str, _Marked] = MappingProxyType(
    {
        "place": compared_places,
        "age": compared_ages,
        "when": compared_times,
        "full name": compared_full_names,
        "person": compared_people,
        "nickname": compared_nicknames,
        "diet": compared_diets,
        "choice": compared_choices,
        "measure": compared_measures,
    }
)
_BEST = "best"
"""What somebody likes best: of which kind its values are, what it is about says."""

KINDS = frozenset({*_PLAIN, *_MARKED, _BEST})
"""The kinds of values that can be compared."""


def compare(kind: str, old: str, new: str, *, marked: bool, detail: str = "") -> Likeness:
    """Return how two values stand to each other.

    Args:
        kind: Of which kind both are; one of `KINDS`.
        old: The value that is known.
        new: The value that is told.
        marked: Whether it is said that something has changed.
        detail: What the attribute is about ("favorite color").
    """
    if not _NEGATIONS.isdisjoint(words_of(f"{old} {new}")):
        return Likeness.UNSURE
    if kind == _BEST and detail.endswith(_COLOUR):
        return compared_colours(old, new)
    if kind == _BEST and detail.endswith(_CITY):
        return compared_places(old, new, marked=marked)
    if kind == _BEST:
        return compared_best(old, new, detail=detail, marked=marked)
    if kind in _MARKED:
        return _MARKED[kind](old, new, marked=marked)
    return _PLAIN[kind](old, new)


_COLOUR = (" color", "lieblingsfarbe")
_CITY = (" city", " country", "lieblingsstadt", "lieblingsland")


def is_value(kind: str, text: str, detail: str = "") -> bool:
    """Tell whether a text is a value of a kind at all."""
    return compare(kind, text, text, marked=False, detail=detail) is Likeness.SAME


def is_well_known(kind: str, value: str) -> bool:
    """Tell whether it is known what a value names, so that it names nothing of another kind."""
    return kind != "organisation" or " " in value or value.casefold() in WELL_KNOWN


def is_former(kind: str, known: str, former: str, detail: str = "") -> bool:
    """Tell whether a value that is known is the one that something had before."""
    if kind == "when":
        one, other = when(known), when(former) or when(f"at {former}")
        return one is not None and other is not None and is_part(other, one)
    return compare(kind, known, former, marked=True, detail=detail) is Likeness.SAME
