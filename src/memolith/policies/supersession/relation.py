"""Compare an old and a new sentence: restated, changed, or doubtful."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from memolith.policies.supersession.entities import (
    ValueComparison,
    compare_choices,
    compare_colours,
    compare_company,
    compare_diets,
    compare_favourites,
    compare_full_names,
    compare_makes,
    compare_marriages,
    compare_nicknames,
    compare_occupations,
    compare_organisations,
    compare_people,
    compare_places,
    compare_pronouns,
    compare_schools,
    compare_things,
    split_words,
)
from memolith.policies.supersession.quantities import (
    compare_addresses,
    compare_ages,
    compare_contacts,
    compare_counts,
    compare_dates,
    compare_measures,
    compare_times,
    is_included,
    parse_when,
)
from memolith.text.canonical_form import content_key
from memolith.text.lexicon.language import word_set
from memolith.text.statements import Mark, ParsedText, Statement, parse_statements, parse_text
from memolith.text.statements.vocabulary import WELL_KNOWN_ORGANISATIONS

_NEGATIONS = word_set("not no never none nicht kein keine keinen nie")


class _ChangeComparator(Protocol):
    """Compares values where an explicit statement of change matters."""

    def __call__(self, old: str, new: str, *, is_change: bool) -> ValueComparison: ...


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
"""Kind of favourites; the subject determines how their values are compared."""

COMPARABLE_KINDS = frozenset({*_COMPARATORS, *_CHANGE_COMPARATORS, _FAVOURITE})
"""Kinds of values that can be compared."""


def compare(kind: str, old: str, new: str, *, is_change: bool, detail: str = "") -> ValueComparison:
    """Compare two values of one attribute.

    Args:
        kind: The kind of both; one of `COMPARABLE_KINDS`.
        old: The known value.
        new: The new value.
        is_change: Whether the new sentence states that something has changed.
        detail: Subject of the attribute ("favorite color").
    """
    if not _NEGATIONS.isdisjoint(split_words(f"{old} {new}")):
        return ValueComparison.UNSURE
    if kind == _FAVOURITE and detail.endswith(_COLOUR_SUFFIXES):
        return compare_colours(old, new)
    if kind == _FAVOURITE and detail.endswith(_PLACE_SUFFIXES):
        return compare_places(old, new, is_change=is_change)
    if kind == _FAVOURITE:
        return compare_favourites(old, new, detail=detail, is_change=is_change)
    if kind in _CHANGE_COMPARATORS:
        return _CHANGE_COMPARATORS[kind](old, new, is_change=is_change)
    return _COMPARATORS[kind](old, new)


_COLOUR_SUFFIXES = (" color", "lieblingsfarbe")
_PLACE_SUFFIXES = (" city", " country", "lieblingsstadt", "lieblingsland")


def is_value(kind: str, text: str, detail: str = "") -> bool:
    """Return whether a text is a value of a kind."""
    return compare(kind, text, text, is_change=False, detail=detail) is ValueComparison.SAME


def is_well_known(kind: str, value: str) -> bool:
    """Return whether a value is known to name nothing of another kind."""
    return kind != "organisation" or " " in value or value.casefold() in WELL_KNOWN_ORGANISATIONS


def is_former(kind: str, known: str, former: str, detail: str = "") -> bool:
    """Return whether a known value is the one that a sentence gives as the former value."""
    if kind == "when":
        one, other = parse_when(known), parse_when(former) or parse_when(f"at {former}")
        return one is not None and other is not None and is_included(other, one)
    return compare(kind, known, former, is_change=True, detail=detail) is ValueComparison.SAME


# --- Relations


_ANY_WORD = re.compile(r"\w+")


class Relation(StrEnum):
    """How a new sentence relates to an old one."""

    RESTATED = "restated"
    """The new sentence says the same."""
    CHANGED = "changed"
    """The old sentence no longer holds; the new one states what holds now."""
    DOUBTFUL = "doubtful"
    """Undecided: both stay."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A relation and its reason.

    Attributes:
        relation: How the new sentence relates to the old one.
        reason: The reason, in a few words, without any content of the sentences.
    """

    relation: Relation
    reason: str


def find_relation(old: str, new: str) -> Finding:
    """Return how a new sentence relates to an earlier one of the same person.

    "changed" requires that the grammar of both allows no other known reading. A text that cannot be
    parsed completely is doubtful.
    """
    if content_key(old) == content_key(new):
        return Finding(Relation.RESTATED, "the same words")
    return relate_reading(old, new, read_comparable(new))


def read_comparable(new: str) -> ParsedText:
    """Parse a new sentence, and keep the statements with comparable values."""
    parsed = parse_text(new)
    return ParsedText(tuple(_filter_comparable(parsed.statements)), parsed.negated_sentences)


def relate_reading(old: str, new: str, new_reading: ParsedText) -> Finding:
    """Relate two texts with different words.

    Args:
        old: The earlier text.
        new: The later text.
        new_reading: The parsed later text; see `read_comparable`.
    """
    finding = _relate(old, new_reading)
    if finding.relation is Relation.CHANGED and _count_words(old) == _count_words(new):
        return Finding(Relation.DOUBTFUL, "the same words in another order")
    return finding


def _relate(old: str, new_reading: ParsedText) -> Finding:
    if new_reading.negated_sentences and _is_ended(old, new_reading.negated_sentences):
        return Finding(Relation.CHANGED, "what it says is over")
    new = new_reading.statements
    if not new:
        return Finding(Relation.DOUBTFUL, "the new one is not understood")
    old_statements = _read_statements(old, new)
    if not old_statements:
        return Finding(Relation.DOUBTFUL, "the old one does not speak of it")
    pairs = [(one, other) for one in old_statements for other in new if _is_about_same(one, other)]
    if not pairs:
        return Finding(Relation.DOUBTFUL, "another subject or attribute")
    findings = [_relate_pair(one, other) for one, other in pairs]
    return min(findings, key=lambda one: _ORDER.index(one.relation))


_ORDER = (Relation.CHANGED, Relation.RESTATED, Relation.DOUBTFUL)


def _count_words(text: str) -> Counter[str]:
    return Counter(_ANY_WORD.findall(text.casefold()))


def _read_statements(text: str, reference: Sequence[Statement]) -> list[Statement]:
    """Return the statements of a text about the attributes of `reference`."""
    return _filter_comparable(
        parse_statements(text, {each.attribute.partition(": ")[0] for each in reference})
    )


def _filter_comparable(statements: Sequence[Statement]) -> list[Statement]:
    return [each for each in statements if _has_value(each)]


def _has_value(statement: Statement) -> bool:
    values = {statement.value}
    if (
        statement.former_value is not None and statement.kind != "when"
    ):  # "instead of 7": see `is_former`
        values.add(statement.former_value)
    is_unchanged = statement.former_value == statement.value
    are_values = (is_value(statement.kind, value, _detail(statement)) for value in values)
    return all(are_values) and not is_unchanged


def _detail(statement: Statement) -> str:
    return statement.attribute.partition(": ")[2]


def _is_about_same(old: Statement, new: Statement) -> bool:
    return (old.subject, old.attribute) == (new.subject, new.attribute)


def _is_ended(old: str, ended: tuple[str, ...]) -> bool:
    """Return whether a new sentence says that the old one no longer holds."""
    if any(content_key(old) == content_key(past) for past in ended):
        return True
    ended_statements = [
        each for past in ended for each in _filter_comparable(parse_statements(past))
    ]
    old_statements = _read_statements(old, ended_statements) if ended_statements else []
    pairs = ((one, other) for one in old_statements for other in ended_statements)
    return any(
        _is_about_same(one, other)
        and _compare_values(one, other) is ValueComparison.SAME
        and not other.has_more  # "I no longer live in Oslo with my parents", but still in Oslo
        for one, other in pairs
    )


def _compare_values(old: Statement, new: Statement) -> ValueComparison:
    is_change = bool(new.marks & {Mark.NOW, Mark.CORRECTED})
    return compare(new.kind, old.value, new.value, is_change=is_change, detail=_detail(new))


def _relate_pair(old: Statement, new: Statement) -> Finding:
    likeness = _compare_values(old, new)
    if new.former_value is not None:
        return _relate_replacement(old, new, likeness)
    if likeness is ValueComparison.SAME:
        return _relate_same_value(old, new)
    if likeness is ValueComparison.UNSURE:
        return Finding(Relation.DOUBTFUL, "both values may be true")
    doubt = _find_doubt(old, new)
    if doubt is None:
        return Finding(Relation.CHANGED, "another value of the same attribute")
    return Finding(Relation.DOUBTFUL, doubt)


def _relate_same_value(old: Statement, new: Statement) -> Finding:
    if new.has_more or old.is_event != new.is_event:
        return Finding(Relation.DOUBTFUL, "one says how it became so, or since when")
    return Finding(Relation.RESTATED, "the same value")


def _relate_replacement(old: Statement, new: Statement, comparison: ValueComparison) -> Finding:
    """Relate a sentence that names its former value to an old one."""
    if not is_former(old.kind, old.value, new.former_value or "", _detail(new)):
        return Finding(Relation.DOUBTFUL, "it is not this value that was replaced")
    if comparison is ValueComparison.SAME:
        return Finding(Relation.DOUBTFUL, "the value is the same")
    return Finding(Relation.CHANGED, "it names the value that it replaces")


def _find_doubt(old: Statement, new: Statement) -> str | None:
    """Return why the old value may still hold; None if it does not."""
    is_change = bool(new.marks & {Mark.NOW, Mark.CORRECTED})
    differs_in_manner = None not in {old.manner, new.manner} and old.manner != new.manner
    may_be_another = differs_in_manner and not (is_change and is_well_known(new.kind, new.value))
    doubts = (
        (Mark.STILL in new.marks or new.has_more, "it says that it has long been so"),
        (new.is_fixed and Mark.CORRECTED not in new.marks, "it never changes"),
        (may_be_another, "it may be said of another"),
        (
            not is_change and (old.is_weak or new.is_weak or old.is_event),
            "it may be so for a time only",
        ),
        (new.is_multiple or (not is_change and not new.is_exclusive), "there may be several"),
    )
    return next((doubt for applies, doubt in doubts if applies), None)
