"""An owner's index is read in batches; the batch size does not change results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memolith import Memolith, Message
from memolith.adapters.sql import index
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter

NOW = datetime(2026, 3, 1, tzinfo=UTC)
QUESTIONS = ("Who likes tea?", "What is number 7?", "yesterday", "Where is the bicycle?")


def open_store(path: Path) -> Memolith:
    return Memolith.open(
        path, embedder=HashingEmbedder(), tokens=WordCounter(), clock=SettableClock(NOW)
    )


def fill(memory: Memolith) -> None:
    """Store alternating memories and messages, some long, some updated and some forgotten."""
    alice = memory.owner("alice")
    for number in range(20):
        text = f"The bicycle number {number} is at the station. " * (1 + 40 * (number % 7 == 0))
        kept = alice.remember(f"Likes tea of kind {number}", tags=[f"t{number % 3}"])
        at = NOW - timedelta(days=number)
        alice.log(
            [Message("Ines", text, at=at), Message("Tom", "Who?", at=at)], session=f"s{number % 4}"
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


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_batch_size_does_not_change_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_size: int
) -> None:
    with open_store(tmp_path / "memory.db") as memory:
        fill(memory)
    with open_store(tmp_path / "memory.db") as memory:
        expected = answers(memory)
    monkeypatch.setattr(index, "_ITEMS_PER_READ", batch_size)
    with open_store(tmp_path / "memory.db") as memory:
        assert answers(memory) == expected
        new = memory.owner("alice").remember("Likes cocoa")
        assert memory.owner("alice").recall("cocoa").memories[0].id == new.id
