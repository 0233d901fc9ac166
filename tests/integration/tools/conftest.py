"""A memory without models."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memolith import Memolith
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def memory(clock: SettableClock) -> Iterator[Memolith]:
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(), tokens=WordCounter(), clock=clock
    ) as opened:
        yield opened
