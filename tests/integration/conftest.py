"""Fixtures: an engine over each store, with a hashing embedder and a settable clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memolith import Memolith, OwnerMemory
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.ports.cipher import CipherProvider
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.plaintext_search import Opener


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))


@pytest.fixture(params=["sqlite", "inmemory"])
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SettableClock
) -> Iterator[Memolith]:
    url = tmp_path / "memory.db" if request.param == "sqlite" else ":memory:"
    with Memolith.open(
        url, embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as engine:
        yield engine


@pytest.fixture
def alice(memory: Memolith) -> OwnerMemory:
    return memory.owner("alice")


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "keys" / "key.ring", KeyFile(tmp_path / "keys" / "key"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory.db"


@pytest.fixture
def opened(path: Path, ring: KeyRing, clock: SettableClock) -> Opener:
    """Return a function that opens an encrypted store with a fresh key ring, like a new process."""

    def open_(where: Path = path, cipher: CipherProvider | None = None) -> Memolith:
        fresh = KeyRing(ring.storage, ring.source)
        return Memolith.open(
            where,
            embedder=HashingEmbedder(),
            clock=clock,
            tokens=WordCounter(),
            cipher=cipher or KeyRingCiphers(fresh),
        )

    return open_
