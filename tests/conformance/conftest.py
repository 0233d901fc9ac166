"""An engine of any profile in which likeness is a matter of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from memolith import Memolith, OwnerMemory
from memolith.config import load
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture
def engines(clock: SettableClock) -> Iterator[Callable[..., Memolith]]:
    """Return what opens a store of a profile in memory: `engines("facts", numbers, **options)`."""
    engines: list[Memolith] = []

    def open_engine(
        profile: str, numbers: Mapping[str, object] | None = None, **options: Any
    ) -> Memolith:
        engine = Memolith.open(
            ":memory:",
            embedder=HashingEmbedder(),
            clock=clock,
            tokens=WordCounter(),
            config=load(overrides={"profile": profile, **(numbers or {})}),
            **options,
        )
        engines.append(engine)
        return engine

    yield open_engine
    for engine in engines:
        engine.close()


@pytest.fixture
def opened(engines: Callable[..., Memolith]) -> Callable[[str], OwnerMemory]:
    """Return what opens a store of a profile in memory, and gives an owner of it."""
    return lambda profile: engines(profile).owner("alice")
