"""An owner's index is read in parts; where they end makes no difference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memolith import Memolith, Message
from memolith.adapters.sql import index
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter

NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUESTIONS = ("Who likes tea?", "What is number 7?", "yesterday", "Where is the bicycle?")


def opened(path: Path) -> Memolith:
    return Memolith.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), clock=SettableClock(NOW)
    )


def fill(memory: Memolith) -> None:
    """Leave memories and messages in turns, long ones among them, some changed and some gone."""
    alice = memory.owner("alice")
    for number in range(20):
        said = f"The bicycle number {number} is at the station. " * (1 + 40 * (number % 7 == 0))
        kept = alice.remember(f"Likes tea of kind {number}", tags=[f"t{number % 3}"])
        at = NOW - timedelta(days=number)
        alice.log(
            [Message("Ines", said, at=at), Message("Tom", "Who?", at=at)], session=f"s{number % 4}"
        )
        if number % 5 == 0:
            alice.forget(kept.id)
        if number % 5 == 1:
            alice.update(kept.id, content=f"Likes coffee of kind {number}")


def answers(memory: Memolith) -> list[object]:
    alice = memory.owner("alice")
    return [
        (one.id, one.text, one.score.total, one.score.parts)
        for question in QUESTIONS
        for one in alice.recall(question, top_k=30, touch=False).memories
    ]


@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_where_the_parts_end_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    with opened(tmp_path / "memory.db") as memory:
        fill(memory)
    with opened(tmp_path / "memory.db") as memory:
        expected = answers(memory)
    monkeypatch.setattr(index, "_ITEMS_PER_READ", at_once)
    with opened(tmp_path / "memory.db") as memory:
        assert answers(memory) == expected
        new = memory.owner("alice").remember("Likes cocoa")
        assert memory.owner("alice").recall("cocoa").memories[0].id == new.id
