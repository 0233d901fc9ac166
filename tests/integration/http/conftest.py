"""A service over an engine with an embedder that needs no model, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter

Caller = Callable[..., TestClient]


@pytest.fixture(params=["sqlite", pytest.param("inmemory", marks=pytest.mark.soak)])
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SettableClock
) -> Iterator[Memolith]:
    """An engine over a file; in memory among the long tests: the routes know no store."""
    url = tmp_path / "memory.db" if request.param == "sqlite" else ":memory:"
    with Memolith.open(
        url, embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as opened:
        yield opened


@pytest.fixture
def client(memory: Memolith, clock: SettableClock) -> Iterator[TestClient]:
    """Give one that shows no key."""
    app = create_app(memory, ServerOptions(), clock)
    with TestClient(app, base_url="http://localhost") as opened:
        yield opened


@pytest.fixture
def calling(memory: Memolith, client: TestClient) -> Caller:
    """Return a way to call with a key of a role, for an owner."""

    def caller(owner: str | None = None, role: str = "owner") -> TestClient:
        name = f"{role} {owner} {len(memory.api_keys())}"
        made = memory.create_api_key(name, role=role, owner=owner)
        headers = {"Authorization": f"Bearer {made.secret}"}
        return TestClient(client.app, base_url="http://localhost", headers=headers)

    return caller


@pytest.fixture
def as_alice(calling: Caller) -> TestClient:
    return calling("alice")
