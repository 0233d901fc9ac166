"""A question about a time finds what was said then, however much else is like it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memolith import Message, OwnerMemory
from memolith.testing.fakes import SettableClock

DAYS = 200
DISHES = ("risotto", "a stew", "pancakes", "dumplings", "a pie", "noodles", "fried rice")
ASKED = {  # on Sunday, 1 March 2026
    "What did I have for dinner yesterday?": "2026-02-28",
    "What did I have for dinner 150 days ago?": "2025-10-02",
    "What did I have for dinner last Tuesday?": "2026-02-24",
    "Was habe ich vor 3 Tagen gegessen?": "2026-02-26",
    "What was for dinner on 14 January?": "2026-01-14",
}


@pytest.fixture
def diary(alice: OwnerMemory, clock: SettableClock) -> OwnerMemory:
    """Two hundred dinners, the last of them today."""
    said = [
        Message(
            "User",
            f"For dinner I had {DISHES[back % len(DISHES)]} at the table by the window",
            at=clock.now() - timedelta(days=back),
        )
        for back in range(DAYS)
    ]
    alice.log(said)
    return alice


def days(memory: OwnerMemory, question: str, **options: Any) -> list[str]:
    """Return on which days the results were said, best first."""
    found: Any = memory.recall(question, **options).memories
    return [str(one.record.at.date()) for one in found]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_the_day_asked_for_comes_first(diary: OwnerMemory, mode: str) -> None:
    found = {question: days(diary, question, mode=mode)[0] for question in ASKED}
    assert found == ASKED


def test_a_month_asked_for_fills_the_results(diary: OwnerMemory) -> None:
    found = days(diary, "What did I have for dinner in December 2025?", top_k=10)
    assert len(found) == 10
    assert all(day.startswith("2025-12") for day in found)


def test_a_period_and_a_limit_must_both_hold(diary: OwnerMemory) -> None:
    since = datetime(2026, 2, 1, tzinfo=UTC)
    found = days(diary, "What did I have for dinner in December 2025?", since=since)
    assert found
    assert all(day >= "2026-02-01" for day in found)


def test_a_time_in_which_nothing_was_said_finds_all_the_same(diary: OwnerMemory) -> None:
    assert len(days(diary, "What did I have for dinner in May 2019?", top_k=10)) == 10
