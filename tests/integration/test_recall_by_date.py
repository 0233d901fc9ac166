"""A question about a time finds messages of that time among many similar ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memolith import Message, OwnerMemory
from memolith.testing.fakes import SettableClock

DAYS = 200
DISHES = ("risotto", "a stew", "pancakes", "dumplings", "a pie", "noodles", "fried rice")
EXPECTED_DAYS = {  # on Sunday, 1 March 2026
    "What did I have for dinner yesterday?": "2026-02-28",
    "What did I have for dinner 150 days ago?": "2025-10-02",
    "What did I have for dinner last Tuesday?": "2026-02-24",
    "Was habe ich vor 3 Tagen gegessen?": "2026-02-26",
    "What was for dinner on 14 January?": "2026-01-14",
}


@pytest.fixture
def diary(alice: OwnerMemory, clock: SettableClock) -> OwnerMemory:
    """Two hundred dinners, one a day, the last one today."""
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


def days_of(memory: OwnerMemory, question: str, **options: Any) -> list[str]:
    """Return the days of the results, best first."""
    found: Any = memory.recall(question, **options).memories
    return [str(one.record.at.date()) for one in found]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_message_of_the_requested_day_ranks_first(diary: OwnerMemory, mode: str) -> None:
    found = {question: days_of(diary, question, mode=mode)[0] for question in EXPECTED_DAYS}
    assert found == EXPECTED_DAYS


def test_messages_of_the_requested_month_fill_the_results(diary: OwnerMemory) -> None:
    found = days_of(diary, "What did I have for dinner in December 2025?", top_k=10)
    assert len(found) == 10
    assert all(day.startswith("2025-12") for day in found)


def test_since_filter_applies_in_addition_to_the_requested_period(diary: OwnerMemory) -> None:
    since = datetime(2026, 2, 1, tzinfo=UTC)
    found = days_of(diary, "What did I have for dinner in December 2025?", since=since)
    assert found
    assert all(day >= "2026-02-01" for day in found)


def test_period_without_messages_still_returns_results(diary: OwnerMemory) -> None:
    assert len(days_of(diary, "What did I have for dinner in May 2019?", top_k=10)) == 10
