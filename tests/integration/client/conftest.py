"""A server on a local port, with its memory and a connected client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith import Memolith, OwnerMemory
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.http_server import running


@pytest.fixture
def memory(tmp_path: Path, clock: SettableClock) -> Iterator[Memolith]:
    with Memolith.open(
        tmp_path / "memory.db", embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as opened:
        yield opened


@pytest.fixture
def url(memory: Memolith, clock: SettableClock) -> Iterator[str]:
    with running(create_app(memory, ServerOptions(), clock)) as where:
        yield where


@pytest.fixture
def key(memory: Memolith) -> str:
    """Return an admin's key."""
    return memory.create_api_key("admin", role="admin").secret


@pytest.fixture
def remote(url: str, key: str) -> Iterator[Memolith]:
    with Memolith.connect(url, key=key) as connected:
        yield connected


@pytest.fixture
def remote_alice(remote: Memolith) -> OwnerMemory:
    """Return Alice's memory through the client."""
    return remote.owner("alice")
