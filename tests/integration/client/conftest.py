"""A service at a port of this machine, and what it is a service of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.http.running import running
from mnemon import Mnemon, OwnerMemory
from mnemon.entrypoints.http.app import Serving, create_app
from mnemon.testing.clock import SettableClock
from mnemon.testing.embedders import HashingEmbedder, WordCounter


@pytest.fixture
def memory(tmp_path: Path, clock: SettableClock) -> Iterator[Mnemon]:
    with Mnemon.open(
        tmp_path / "memory.db", embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as opened:
        yield opened


@pytest.fixture
def url(memory: Mnemon, clock: SettableClock) -> Iterator[str]:
    with running(create_app(memory, Serving(), clock)) as where:
        yield where


@pytest.fixture
def key(memory: Mnemon) -> str:
    """Return an admin's key."""
    return memory.create_api_key("admin", role="admin").secret


@pytest.fixture
def remote(url: str, key: str) -> Iterator[Mnemon]:
    with Mnemon.connect(url, key=key) as connected:
        yield connected


@pytest.fixture
def far_alice(remote: Mnemon) -> OwnerMemory:
    """Give Alice's memory, as her client has it."""
    return remote.owner("alice")
