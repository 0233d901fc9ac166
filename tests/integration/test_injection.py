"""Prompt injection against a memory whose model obeys every injected instruction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from corpora.injections import Channel, Injection, load_injections
from support.injection_trials import RULES, WITH_MODEL, WITHOUT_MODEL, aftermaths, breaches, table

CASES = load_injections()


PROFILES = (*WITH_MODEL, *WITHOUT_MODEL)


def sample_cases(profile: str) -> Sequence[Injection]:
    """Return a third of the texts, with every category and channel; it varies by profile."""
    return CASES[PROFILES.index(profile) % 3 :: 3]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("are_all", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_injection_breaks_no_rule(profile: str, *, are_all: bool) -> None:
    broken: dict[str, list[str]] = {rule: [] for rule in RULES}
    for after in aftermaths(profile, CASES if are_all else sample_cases(profile)):
        for rule, problems in breaches(after).items():
            broken[rule] += [f"{after.case.name}: {problem}" for problem in problems]
    assert broken == {rule: [] for rule in RULES}


def test_corpus_covers_every_category_and_channel() -> None:
    kinds = {case.category for case in CASES}
    assert len(kinds) >= 11
    assert Counter((case.category, case.channel) for case in CASES) == {
        (kind, channel): 1 for kind in kinds for channel in Channel
    }
    assert sum(case.language == "de" for case in CASES) >= 20


@pytest.mark.parametrize("profile", PROFILES)
def test_sample_covers_every_category_and_channel(profile: str) -> None:
    tried = sample_cases(profile)
    assert {case.category for case in tried} == {case.category for case in CASES}
    assert {case.channel for case in tried} == set(Channel)
    assert {case for each in PROFILES for case in sample_cases(each)} == set(CASES)


def test_payload_of_each_text_is_in_all_model_answers() -> None:
    assert len({case.whole for case in CASES}) == len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        answers = (*case.facts, case.merged, case.summary, *case.notes, case.reply)
        assert all(case.is_in(each) for each in answers), case.name


def test_table_counts_broken_rules() -> None:
    after = aftermaths("chunks", CASES[:2])
    unbroken = {rule: list[str]() for rule in RULES}
    (first, *_) = RULES
    broken = {**unbroken, first: ["a problem"]}
    lines = table({"chunks": [(after[0], broken), (after[1], unbroken)]}).splitlines()
    assert lines[0].startswith("2 hostile texts")
    assert lines[3].split()[-1] == "1"
    assert lines[-1].split()[:3] == ["fences", "0/1", "1/1"]
