"""A service over an engine with an embedder that needs no model, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from mnemon import Mnemon
from mnemon.entrypoints.http.app import Serving, create_app
from mnemon.testing.clock import SettableClock

Caller = Callable[..., TestClient]


@pytest.fixture
def client(memory: Mnemon, clock: SettableClock) -> Iterator[TestClient]:
    """Give one that shows no key."""
    app = create_app(memory, Serving(), clock)
    with TestClient(app, base_url="http://localhost") as opened:
        yield opened


@pytest.fixture
def calling(memory: Mnemon, client: TestClient) -> Caller:
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
