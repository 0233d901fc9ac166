"""Engines of any profile, with an embedder for which similarity is shared words."""

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
    """Return a function that opens an in-memory store: `engines("facts", numbers, **options)`."""
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
def open_owner(engines: Callable[..., Memolith]) -> Callable[[str], OwnerMemory]:
    """Return a function that opens an in-memory store of a profile and returns an owner."""
    return lambda profile: engines(profile).owner("alice")
