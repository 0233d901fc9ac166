"""An engine of any profile in which likeness is a matter of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from mnemon import Mnemon, OwnerMemory
from mnemon.testing.clock import SettableClock
from mnemon.testing.embedders import HashingEmbedder, WordCounter


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture
def opened(clock: SettableClock) -> Iterator[Callable[[str], OwnerMemory]]:
    """Return what opens a store of a profile in memory, and gives an owner of it."""
    engines: list[Mnemon] = []

    def open_profile(profile: str) -> OwnerMemory:
        embedder, tokens = HashingEmbedder(), WordCounter()
        engine = Mnemon.open(
            ":memory:", profile=profile, embedder=embedder, clock=clock, tokens=tokens
        )
        engines.append(engine)
        return engine.owner("alice")

    yield open_profile
    for engine in engines:
        engine.close()
