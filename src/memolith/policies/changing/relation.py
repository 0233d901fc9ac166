"""How a new sentence stands to an old one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from memolith.policies.changing.likeness import ValueComparison
from memolith.policies.changing.values import compare, is_former, is_value, is_well_known
from memolith.text.normal import content_key
from memolith.text.statements import Mark, ParsedText, Statement, parse_statements, parse_text

_ANY_WORD = re.compile(r"\w+")


class Relation(StrEnum):
    """What becomes of an old sentence where a new one is told."""

    RESTATED = "restated"
    """The new one says just what the old one says."""
    CHANGED = "changed"
    """The old one does not hold any more: the new one says what holds now."""
    DOUBTFUL = "doubtful"
    """Neither can be told: both stay."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A relation, and why.

    Attributes:
        relation: How the new sentence stands to the old one.
        reason: Why, in a few words, without any of their content.
    """

    relation: Relation
    reason: str


def find_relation(old: str, new: str) -> Finding:
    """Return how a new sentence stands to an old one, said before.

    Both are taken to be said by the same person. "changed" is only said where the grammar of
    both leaves no other reading that is known of; a text that can't be read whole is doubtful.
    """
    if content_key(old) == content_key(new):
        return Finding(Relation.RESTATED, "the same words")
    return relate_reading(old, new, read_comparable(new))


def read_comparable(new: str) -> ParsedText:
    """Return what a new sentence says, with values that can be compared."""
    said = parse_text(new)
    return ParsedText(tuple(_filter_comparable(said.statements)), said.negated_sentences)


def relate_reading(old: str, new: str, new_reading: ParsedText) -> Finding:
    """Return the same of texts of other words.

    Args:
        old: What was said first.
        new: What was said later.
        said: What the new one says: see `plainly_told`.
    """
    found = _relate(old, new_reading)
    if found.relation is Relation.CHANGED and _count_words(old) == _count_words(new):
        return Finding(Relation.DOUBTFUL, "the same words in another order")
    return found


def _relate(old: str, new_reading: ParsedText) -> Finding:
    if new_reading.negated_sentences and _is_ended(old, new_reading.negated_sentences):
        return Finding(Relation.CHANGED, "what it says is over")
    new = new_reading.statements
    if not new:
        return Finding(Relation.DOUBTFUL, "the new one is not understood")
    known = _read_statements(old, new)
    if not known:
        return Finding(Relation.DOUBTFUL, "the old one does not speak of it")
    pairs = [(one, other) for one in known for other in new if _is_about_same(one, other)]
    if not pairs:
        return Finding(Relation.DOUBTFUL, "another subject or attribute")
    found = [_relate_pair(one, other) for one, other in pairs]
    return min(found, key=lambda one: _ORDER.index(one.relation))


_ORDER = (Relation.CHANGED, Relation.RESTATED, Relation.DOUBTFUL)


def _count_words(text: str) -> Counter[str]:
    return Counter(_ANY_WORD.findall(text.casefold()))


def _read_statements(text: str, like: Sequence[Statement]) -> list[Statement]:
    """Return what a text states of attributes of which these speak."""
    return _filter_comparable(
        parse_statements(text, {each.attribute.partition(": ")[0] for each in like})
    )


def _filter_comparable(stated: Sequence[Statement]) -> list[Statement]:
    return [each for each in stated if _has_value(each)]


def _has_value(statement: Statement) -> bool:
    values = {statement.value}
    if (
        statement.former_value is not None and statement.kind != "when"
    ):  # "instead of 7": see `is_former`
        values.add(statement.former_value)
    from_itself = statement.former_value == statement.value
    known = (is_value(statement.kind, value, _detail(statement)) for value in values)
    return all(known) and not from_itself


def _detail(statement: Statement) -> str:
    return statement.attribute.partition(": ")[2]


def _is_about_same(old: Statement, new: Statement) -> bool:
    return (old.subject, old.attribute) == (new.subject, new.attribute)


def _is_ended(old: str, ended: tuple[str, ...]) -> bool:
    """Tell whether an old sentence says what is over."""
    if any(content_key(old) == content_key(past) for past in ended):
        return True
    pasts = [each for past in ended for each in _filter_comparable(parse_statements(past))]
    known = _read_statements(old, pasts) if pasts else []
    pairs = ((one, other) for one in known for other in pasts)
    return any(
        _is_about_same(one, other)
        and _compare_values(one, other) is ValueComparison.SAME
        and not other.has_more  # "I no longer live in Oslo with my parents", but on one's own
        for one, other in pairs
    )


def _compare_values(old: Statement, new: Statement) -> ValueComparison:
    marked = bool(new.marks & {Mark.NOW, Mark.CORRECTED})
    return compare(new.kind, old.value, new.value, marked=marked, detail=_detail(new))


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
    """Return how a sentence that names the value there was before stands to an old one."""
    if not is_former(old.kind, old.value, new.former_value or "", _detail(new)):
        return Finding(Relation.DOUBTFUL, "it is not this value that was replaced")
    if comparison is ValueComparison.SAME:
        return Finding(Relation.DOUBTFUL, "the value is the same")
    return Finding(Relation.CHANGED, "it names the value that it replaces")


def _find_doubt(old: Statement, new: Statement) -> str | None:
    """Return why another value does not mean that the old one has gone; None: it does."""
    marked = bool(new.marks & {Mark.NOW, Mark.CORRECTED})
    said_otherwise = None not in {old.manner, new.manner} and old.manner != new.manner
    may_be_another = said_otherwise and not (marked and is_well_known(new.kind, new.value))
    doubts = (
        (Mark.STILL in new.marks or new.has_more, "it says that it has long been so"),
        (new.is_fixed and Mark.CORRECTED not in new.marks, "it never changes"),
        (may_be_another, "it may be said of another"),
        (
            not marked and (old.is_weak or new.is_weak or old.is_event),
            "it may be so for a time only",
        ),
        (new.is_multiple or (not marked and not new.is_exclusive), "there may be several"),
    )
    return next((doubt for is_so, doubt in doubts if is_so), None)
