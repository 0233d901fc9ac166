"""Hostile texts against a memory that learns with a model which obeys them: what holds."""

from __future__ import annotations

from collections import Counter

import pytest

from integration.injection import RULES, WITH_MODEL, WITHOUT_MODEL, aftermaths, breaches, table
from mnemon.testing.injections import Channel, load_injections

CASES = load_injections()


@pytest.mark.parametrize("profile", [*WITH_MODEL, *WITHOUT_MODEL])
def test_no_hostile_text_breaks_a_rule(profile: str) -> None:
    broken: dict[str, list[str]] = {rule: [] for rule in RULES}
    for after in aftermaths(profile):
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
