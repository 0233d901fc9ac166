"""Hostile texts against a memory that learns with a model which obeys them: what holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from corpora.injections import Channel, Injection, load_injections
from support.injection_trials import RULES, WITH_MODEL, WITHOUT_MODEL, aftermaths, breaches, table

CASES = load_injections()


PROFILES = (*WITH_MODEL, *WITHOUT_MODEL)


def some(profile: str) -> Sequence[Injection]:
    """Return a third of the texts, of every kind and for every way in; another for the next."""
    return CASES[PROFILES.index(profile) % 3 :: 3]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("are_all", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_no_hostile_text_breaks_a_rule(profile: str, *, are_all: bool) -> None:
    broken: dict[str, list[str]] = {rule: [] for rule in RULES}
    for after in aftermaths(profile, CASES if are_all else some(profile)):
        for rule, problems in breaches(after).items():
            broken[rule] += [f"{after.case.name}: {problem}" for problem in problems]
    assert broken == {rule: [] for rule in RULES}


def test_there_is_a_text_of_every_kind_for_every_way_in() -> None:
    kinds = {case.category for case in CASES}
    assert len(kinds) >= 11
    assert Counter((case.category, case.channel) for case in CASES) == {
        (kind, channel): 1 for kind in kinds for channel in Channel
    }
    assert sum(case.language == "de" for case in CASES) >= 20


@pytest.mark.parametrize("profile", PROFILES)
def test_those_that_are_always_tried_are_of_every_kind_and_for_every_way_in(profile: str) -> None:
    tried = some(profile)
    assert {case.category for case in tried} == {case.category for case in CASES}
    assert {case.channel for case in tried} == set(Channel)
    assert {case for each in PROFILES for case in some(each)} == set(CASES)


def test_each_text_differs_and_its_payload_stands_in_all_that_a_model_would_answer() -> None:
    assert len({case.whole for case in CASES}) == len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        answers = (*case.facts, case.merged, case.summary, *case.notes, case.reply)
        assert all(case.is_in(each) for each in answers), case.name


def test_the_table_counts_what_broke_a_rule_and_what_was_held() -> None:
    after = aftermaths("chunks", CASES[:2])
    held = {rule: list[str]() for rule in RULES}
    (first, *_) = RULES
    broken = {**held, first: ["a problem"]}
    lines = table({"chunks": [(after[0], broken), (after[1], held)]}).splitlines()
    assert lines[0].startswith("2 hostile texts")
    assert lines[3].split()[-1] == "1"
    assert lines[-1].split()[:3] == ["fences", "0/1", "1/1"]
