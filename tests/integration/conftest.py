"""An engine over each store, with an embedder that needs no model and a clock that is set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemon import Mnemon, OwnerMemory
from mnemon.testing.clock import SettableClock
from mnemon.testing.embedders import HashingEmbedder, WordCounter


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture(params=["sqlite", "inmemory"])
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SettableClock
) -> Iterator[Mnemon]:
    url = tmp_path / "memory.db" if request.param == "sqlite" else ":memory:"
    with Mnemon.open(url, embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()) as opened:
        yield opened


@pytest.fixture
def alice(memory: Mnemon) -> OwnerMemory:
    return memory.owner("alice")
