"""The examples of the API reference are valid requests."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith, OwnerMemory
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.openapi import document

from .conftest import ClientFactory

JSON, LINES = "application/json", "application/x-ndjson"


DOCUMENT = document()
BODIES = [
    (method.upper(), path, kind, taken)
    for path, methods in DOCUMENT["paths"].items()
    for method, route in methods.items()
    for kind, taken in route.get("requestBody", {}).get("content", {}).items()
    if kind in {JSON, LINES}
]
UNKNOWN = {HTTPStatus.NOT_FOUND, HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.BAD_GATEWAY}
"""Statuses for an unknown id or a missing model: the request itself was valid."""


def examples(taken: dict[str, Any]) -> list[Any]:
    """Return the documented examples of a body."""
    name = taken["schema"].get("$ref", "").rpartition("/")[2]
    schema = DOCUMENT["components"]["schemas"].get(name, taken["schema"])
    fields = schema.get("properties", {})
    whole = [taken[name] for name in ("example",) if name in taken]
    whole += [each["value"] for each in taken.get("examples", {}).values()]
    whole += schema.get("examples", [])
    parts = {name: each["examples"][0] for name, each in fields.items() if "examples" in each}
    return whole or ([parts] if parts else [])


@pytest.fixture
def memory(tmp_path: Path, clock: SettableClock) -> Iterator[Memolith]:
    path, embedder = tmp_path / "memory.db", HashingEmbedder()
    with Memolith.open(path, embedder=embedder, clock=clock, tokens=WordCounter()) as opened:
        yield opened


@pytest.fixture
def stored_memories(alice: OwnerMemory) -> None:
    alice.remember("Prefers metric units", kind="preference", key="units")
    alice.set_base_memory("Lives in Oslo.")


@pytest.mark.usefixtures("stored_memories")
@pytest.mark.parametrize(
    ("method", "path", "kind", "taken"), BODIES, ids=[f"{m} {p}" for m, p, *_ in BODIES]
)
def test_every_body_has_accepted_examples(
    client_for: ClientFactory, method: str, path: str, kind: str, taken: dict[str, Any]
) -> None:
    caller: TestClient = (
        client_for("alice", role="admin") if "owner" in path else client_for("alice")
    )
    if "upkeep" in path:
        caller = client_for(None, role="admin")
    shown = examples(taken)
    assert shown
    where = path.format(id="019f2b6e-58a0-7c3e-9d51-2f6f0c1b7a10", session="s1")
    for each in shown:
        sent: dict[str, Any] = {"json": each} if kind == JSON else {"content": each.encode()}
        answer = caller.request(method, where, headers={"Content-Type": kind}, **sent)
        assert answer.is_success or answer.status_code in UNKNOWN, answer.text
