"""A server in this process, whose embedder needs no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter

ClientFactory = Callable[..., TestClient]


@pytest.fixture(params=["sqlite", pytest.param("inmemory", marks=pytest.mark.soak)])
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, clock: SettableClock
) -> Iterator[Memolith]:
    """A store in a file; soak tests also use an in-memory store."""
    url = tmp_path / "memory.db" if request.param == "sqlite" else ":memory:"
    with Memolith.open(
        url, embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as opened:
        yield opened


@pytest.fixture
def client(memory: Memolith, clock: SettableClock) -> Iterator[TestClient]:
    """Yield a client without a key."""
    app = create_app(memory, ServerOptions(), clock)
    with TestClient(app, base_url="http://localhost") as opened:
        yield opened


@pytest.fixture
def client_for(memory: Memolith, client: TestClient) -> ClientFactory:
    """Return a function that creates clients with a key of a role and owner."""

    def create_client(owner: str | None = None, role: str = "owner") -> TestClient:
        name = f"{role} {owner} {len(memory.api_keys())}"
        made = memory.create_api_key(name, role=role, owner=owner)
        headers = {"Authorization": f"Bearer {made.secret}"}
        return TestClient(client.app, base_url="http://localhost", headers=headers)

    return create_client


@pytest.fixture
def as_alice(client_for: ClientFactory) -> TestClient:
    return client_for("alice")
