"""Recall reads only candidates that can be selected, without changing its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memolith import Memolith, Message, OwnerMemory
from memolith.domain.recall import RecalledItem
from memolith.services.selection import ResultSelection
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter

EMBEDDER = HashingEmbedder(64)
SENTENCES = ("I like tea.", "My name is Ada.", "I live in Oslo.", "The bicycle is red.")
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)
WRITES = st.tuples(st.sampled_from(("remember", "learn", "log")), TEXTS)
QUESTIONS = st.tuples(TEXTS, st.integers(0, 40), st.integers(1, 8))


def store_all(alice: OwnerMemory, writes: Sequence[tuple[str, str]]) -> None:
    for number, (way, text) in enumerate(writes):
        if way == "remember":
            alice.remember(text)
        elif way == "learn":
            alice.learn(text, "I see.", session=f"session {number % 2}")
        else:
            alice.log([Message("Bob", text)], session="meeting")


def get_answers(alice: OwnerMemory, query: str, budget: int, top_k: int) -> tuple[Any, ...]:
    options: dict[str, Any] = {"token_budget": budget, "top_k": top_k, "touch": False}
    found = alice.recall(query, trace=True, **options)
    context = alice.context_with_results(query, **options)
    assert found.trace is not None
    ids = [one.id for one in found.memories] + [one.id for one in found.trace.dropped]
    assert len(set(ids)) == len(ids) == found.trace.candidates
    folded = {id_ for one in found.memories for id_ in one.collapsed_ids}
    assert folded == {one.id for one in found.trace.dropped if one.reason == "folded"}
    return found.memories, found.trace.dropped, context


@settings(max_examples=60)
@given(st.lists(WRITES, min_size=1, max_size=12), st.lists(QUESTIONS, min_size=1, max_size=4))
def test_reading_every_candidate_changes_no_result(
    writes: list[tuple[str, str]], questions: list[tuple[str, int, int]]
) -> None:
    clock = SettableClock(datetime(2026, 1, 1, tzinfo=UTC))
    with Memolith.open(":memory:", embedder=EMBEDDER, tokens=WordCounter(), clock=clock) as memory:
        alice = memory.owner("alice")
        store_all(alice, writes)
        found = [get_answers(alice, *each) for each in questions]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ResultSelection, "_must_read", lambda *_: True)
            assert found == [get_answers(alice, *each) for each in questions]


def test_candidates_over_the_budget_are_not_read() -> None:
    clock = SettableClock(datetime(2026, 1, 1, tzinfo=UTC))
    with Memolith.open(":memory:", embedder=EMBEDDER, tokens=WordCounter(), clock=clock) as memory:
        alice = memory.owner("alice")
        alice.log([Message("Bob", f"{SENTENCES[0]} {number}") for number in range(50)], session="s")
        offered: list[int] = []
        read: list[int] = []
        offer = ResultSelection.offer

        def record_offer(
            choice: ResultSelection, row: int, tokens: int, reading: Callable[[], RecalledItem]
        ) -> None:
            def read_and_record() -> RecalledItem:
                read.append(row)
                return reading()

            offered.append(row)
            offer(choice, row, tokens, read_and_record)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ResultSelection, "offer", record_offer)
            found = alice.recall(SENTENCES[0], token_budget=20, top_k=100, touch=False)
        assert len(read) == len(found.memories) < len(offered)
