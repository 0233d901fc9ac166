"""Detection of changed facts by `standard`, on its labelled pairs and on swaps of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.changes import Change, Label, load_changes
from corpora.meaning_edits import KINDS as SWAP_KINDS
from corpora.meaning_edits import Swap, swaps
from corpora.pairs import load_pairs
from memolith.policies.supersession.entities import ValueComparison
from memolith.policies.supersession.relation import (
    COMPARABLE_KINDS,
    Relation,
    compare,
    find_relation,
    read_comparable,
)
from memolith.text.analysis import terms
from memolith.text.canonical_form import content_key
from memolith.text.statements import parse_statements, search_terms
from memolith.text.statements.parsing import _compile_patterns, load_grammars
from support.rows import check_each

PAIRS = load_changes()
TEXTS = sorted({text for pair in PAIRS for text in (pair.old, pair.new)})

ANOTHER_VALUE = frozenset(
    {"antonym", "date", "decimal", "month", "name", "number", "time", "weekday"}
)
"""Swaps that give an attribute another value, and so are true changes."""


def _get_pairs(label: Label) -> list[Change]:
    return [pair for pair in PAIRS if pair.label is label]


def test_each_label_has_enough_pairs() -> None:
    assert len(PAIRS) >= 200
    assert len({(pair.old, pair.new) for pair in PAIRS}) == len(PAIRS)
    assert min(len(_get_pairs(label)) for label in Label) >= 30


@check_each("label", Label)
def test_no_pair_is_wrongly_changed_or_restated(label: Label) -> None:
    for pair in _get_pairs(label):
        found = find_relation(pair.old, pair.new).relation
        assert found is Relation.DOUBTFUL or found.value == label.value, pair
        if label in {Label.BOTH_TRUE, Label.UNRELATED}:
            assert find_relation(pair.new, pair.old).relation is Relation.DOUBTFUL, pair


def test_most_changes_and_restatements_are_detected() -> None:
    # The required share of changes is lower. Many pairs do not state a change, and an attribute
    # that can have two values at once ("My boss is Tom") needs such a statement.
    for label, share in ((Label.CHANGED, 0.75), (Label.RESTATED, 0.8)):
        pairs = _get_pairs(label)
        found = [
            pair for pair in pairs if find_relation(pair.old, pair.new).relation == label.value
        ]
        assert len(found) >= share * len(pairs)


@check_each(("old", "new", "marked"), [
        ("I work at NASA.", "I work at Google.", "I work at Google now."),
        ("I work as a nurse.", "I work as a teacher.", "I now work as a teacher."),
        ("My boss is Karen.", "My boss is Tom.", "My new boss is Tom."),
        ("My dentist is Dr. Meyer.", "My dentist is Dr. Hassan.", "My new dentist is Dr. Hassan."),
        ("My phone number is 555-0134.", "My phone number is 555-0177.",
         "My new phone number is 555-0177."),
        ("My email is a@home.example.", "My email is b@firm.example.",
         "My email changed to b@firm.example."),
        ("My car is a Volvo.", "My car is a Tesla.", "My car is a Tesla now."),
        ("My pronouns are she/her.", "My pronouns are they/them.",
         "My pronouns are they/them now."),
        ("Call me Al.", "Call me Bob.", "Call me Bob from now on."),
        ("My rent is 900 euros.", "My rent is 950 euros.", "My rent went up to 950 euros."),
        ("I wake up at 6.", "I wake up at 7.", "I now wake up at 7."),
        ("My major is physics.", "My major is law.", "I changed my major to law."),
        ("My go-to drink is gin.", "My go-to drink is cider.", "My new go-to drink is cider."),
        ("The meeting is on Monday.", "The meeting is on Tuesday.",
         "The meeting was moved to Tuesday."),
        ("My boss lives in Oslo.", "My boss lives in Bergen.", "My boss moved to Bergen."),
        ("Ich arbeite bei Bosch.", "Ich arbeite bei Siemens.", "Ich arbeite jetzt bei Siemens."),
        ("Mein Chef ist Tom.", "Mein Chef ist Karl.", "Mein neuer Chef ist Karl."),
    ])  # fmt: skip
def test_attribute_with_two_values_changes_only_with_change_word(
    old: str, new: str, marked: str
) -> None:
    assert find_relation(old, new).relation is Relation.DOUBTFUL
    assert find_relation(old, marked).relation is Relation.CHANGED


@check_each(("old", "new", "named"), [
        ("I use Notion.", "I use Slack now.", "I switched from Notion to Slack."),
        ("I play tennis.", "I now play chess.", "I switched from tennis to chess."),
        ("My friend lives in Oslo.", "My friend moved to Bergen.",
         "My friend moved from Oslo to Bergen."),
        ("My sister works at Nokia.", "My sister works at Google now.",
         "My sister switched from Nokia to Google."),
    ])  # fmt: skip
def test_attribute_with_many_values_changes_only_with_old_name(
    old: str, new: str, named: str
) -> None:
    assert find_relation(old, new).relation is Relation.DOUBTFUL
    assert find_relation(old, named).relation is Relation.CHANGED


def test_only_pairs_of_same_fact_are_restatements() -> None:
    for pair in load_pairs():
        assert (find_relation(pair.a, pair.b).relation is Relation.RESTATED) == pair.same
        assert (find_relation(pair.b, pair.a).relation is Relation.RESTATED) == pair.same


@cache
def _get_swaps() -> Mapping[str, Sequence[Swap]]:
    """Return the swaps of all texts by kind. Cached: making them is slow."""
    others = (text for pair in load_pairs() for text in (pair.a, pair.b))
    made = [swap for text in (*TEXTS, *others) for swap in swaps(text)]
    return {kind: [swap for swap in made if swap.kind == kind] for kind in SWAP_KINDS}


@check_each("kind", sorted(set(SWAP_KINDS) - ANOTHER_VALUE))
def test_swap_without_new_value_is_not_change(kind: str) -> None:
    for swap in _get_swaps()[kind]:
        if "no longer" not in swap.changed:
            assert find_relation(swap.original, swap.changed).relation is not Relation.CHANGED, swap


def _is_inverted(text: str) -> bool:
    """Return whether the sentence inverts its parts: "Karen is no longer my boss"."""
    return "is now" in text or "is no longer" in text


@check_each("kind", sorted(set(SWAP_KINDS) - ANOTHER_VALUE - {"tense", "possessive"}))
def test_swapped_change_is_no_longer_change(kind: str) -> None:
    of_text: dict[str, list[str]] = {swap.original: [] for swap in _get_swaps()[kind]}
    for swap in _get_swaps()[kind]:
        of_text[swap.original].append(swap.changed)
    for pair in _get_pairs(Label.CHANGED):
        for changed in of_text.get(pair.new, ()):
            if not (kind == "roles" and _is_inverted(changed)):
                assert find_relation(pair.old, changed).relation is not Relation.CHANGED, changed


@check_each(
    "told",
    [
        "{}?",
        "Tom says: {}",
        'She asked "{}"',
        "If {}",
        "Maybe {}",
        "I dreamed that {}",
        "I think {}",
        "{} But only on weekends.",
        "{} Or so I thought.",
        "Is it true that {}",
        "My brother: {}",
        "Not true: {}",
    ],
)
def test_reported_or_uncertain_statement_changes_nothing(told: str) -> None:
    for pair in PAIRS:
        new = told.format(pair.new.rstrip(".") if told.startswith("{}?") else pair.new)
        assert find_relation(pair.old, new).relation is not Relation.CHANGED, pair


_BEHIND = (
    "on weekends", "in summer", "in winter", "in theory", "in Minecraft", "in the game",
    "at work", "at home", "for now", "for tax purposes", "for a week", "for Tom", "with my ex",
    "as a child", "as a joke", "two days a week", "part-time", "most of the time", "back then",
    "last year", "next year", "until May", "since Monday", "by mistake", "according to Tom",
    "on holiday", "on paper", "abroad", "online", "twice", "someday", "lol", "as well",
    "and Rome", "or so",
)  # fmt: skip


@check_each("behind", _BEHIND)
@pytest.mark.parametrize("are_all", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_statement_limited_by_time_or_place_changes_nothing(behind: str, *, are_all: bool) -> None:
    # By default every fifth pair, offset by the phrase: each pair is tested with seven phrases.
    for pair in PAIRS if are_all else PAIRS[_BEHIND.index(behind) % 5 :: 5]:
        new = f"{pair.new.rstrip('.!?')} {behind}."
        assert find_relation(pair.old, new).relation is not Relation.CHANGED, new


@check_each(
    ("old", "new"),
    [
        ("I live in Texas.", "I live in Paris."),
        ("I live in Ontario.", "I live in London."),
        ("I live in London.", "I live in Richmond."),
        ("I live in Boston.", "I live in England."),
    ],
)
def test_ambiguous_place_name_changes_nothing(old: str, new: str) -> None:
    assert find_relation(old, new).relation is Relation.DOUBTFUL
    assert find_relation(new, old).relation is Relation.DOUBTFUL


def test_restated_or_changed_memory_is_searchable_by_terms() -> None:
    for pair in PAIRS:
        is_same = content_key(pair.old) == content_key(pair.new)  # the content hash finds these
        if not is_same and find_relation(pair.old, pair.new).relation is not Relation.DOUBTFUL:
            held = set(terms(pair.old))
            ways = search_terms(read_comparable(pair.new))
            assert any(all(group & held for group in way) for way in ways), pair


@given(text=st.sampled_from(TEXTS), mark=st.sampled_from(["", ".", "!", " ", "  "]))
def test_same_words_are_never_change(text: str, mark: str) -> None:
    assert find_relation(text, text.rstrip(".!") + mark).relation is Relation.RESTATED


@given(one=st.sampled_from(TEXTS), other=st.sampled_from(TEXTS))
def test_fact_about_another_subject_is_never_changed(one: str, other: str) -> None:
    subjects = [{each.subject for each in parse_statements(text)} for text in (one, other)]
    if all(subjects) and subjects[0].isdisjoint(subjects[1]):
        assert find_relation(one, other).relation is Relation.DOUBTFUL
        assert find_relation(other, one).relation is Relation.DOUBTFUL


@given(old=st.text(max_size=60), new=st.text(max_size=60))
def test_relation_accepts_any_text(old: str, new: str) -> None:
    assert find_relation(old, new).relation in Relation


@given(
    kind=st.sampled_from(sorted(COMPARABLE_KINDS)),
    old=st.text(max_size=20),
    new=st.text(max_size=20),
    is_change=st.booleans(),
)
def test_comparison_accepts_any_value_and_equals_itself(
    kind: str, old: str, new: str, *, is_change: bool
) -> None:
    assert compare(kind, old, new, is_change=is_change) in ValueComparison
    assert compare(kind, old, old, is_change=is_change) is not ValueComparison.DIFFERENT


@pytest.mark.parametrize("language", [grammar.language for grammar in load_grammars()])
def test_pattern_starting_with_slot_has_no_alternative(language: str) -> None:
    for pattern in _compile_patterns(language):
        plain = re.sub(r"\\.|\[[^\]]*\]", "", pattern.regex.pattern)
        while (inner := re.sub(r"\([^()]*\)", "", plain)) != plain:
            plain = inner
        assert pattern.slot is None or "|" not in plain


def test_every_value_kind_of_grammar_is_comparable() -> None:
    for grammar in load_grammars():
        assert {attribute.value for attribute in grammar.attributes} <= COMPARABLE_KINDS
