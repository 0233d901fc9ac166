"""Every route, called by Bob with Alice's names, neither reveals nor changes her data.

Routes and parameters come from the OpenAPI document, so new routes are included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.openapi import document
from support.tenant_isolation import PATTERNS, Things, furnish

WORD = "zufibolema"

_LINES, _FORM = "application/x-ndjson", "multipart/form-data"
NEED_A_MODEL = ("/v1/chat/completions", "/v1/models", "/chat/text", "/chat/audio")
"""Routes that respond with 501 here, since no model is configured."""

NEED_NO_KEY = ("/healthz", "/readyz", "/health")


DOCUMENT = document()
ROUTES = [
    (method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods
]


class World(NamedTuple):
    """A server whose store contains every kind of Alice's data."""

    memory: Memolith
    alice: Things
    anybody: TestClient

    def create_stranger(self) -> TestClient:
        """Return a client with the key of a new owner without data."""
        name = f"bob {len(self.memory.api_keys())}"
        key = self.memory.create_api_key(name, role="owner", owner=name).secret
        headers = {"Authorization": f"Bearer {key}"}
        return TestClient(self.anybody.app, base_url="http://localhost", headers=headers)


@contextmanager
def _open_world(path: Path) -> Iterator[World]:
    clock = SettableClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    embedder = HashingEmbedder()
    with Memolith.open(path, embedder=embedder, clock=clock, tokens=WordCounter()) as memory:
        alice = furnish(memory.owner("alice"), WORD)
        with TestClient(
            create_app(memory, ServerOptions(), clock), base_url="http://localhost"
        ) as client:
            yield World(memory, alice, client)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, database: str) -> Iterator[World]:
    with _open_world(tmp_path_factory.mktemp(database) / "memory.db") as made:
        yield made


def _values(things: Things) -> list[tuple[str, ...]]:
    """Return the names of Alice's records and similar ones, grouped by kind."""
    return [
        things.ids,
        things.names(things.keys),
        things.names(things.sessions),
        things.names(things.tags),
        things.names(things.external_ids),
        (*things.texts, WORD, f"{WORD}%", things.cursor, "alice"),
    ]


def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        found: dict[str, Any] = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


def _fill(schema: dict[str, Any], value: str) -> Any:
    """Return an instance of a schema, with a value in each text field."""
    schema = _resolve(schema)
    for either in schema.get("anyOf", ()):
        if either.get("type") != "null":
            return _fill(either, value)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type")
    if kind == "object":
        return {
            name: _fill(part, value)
            for name, part in schema.get("properties", {}).items()
            if "date-time" not in str(part) and part.get("type") != "boolean"
        }
    if kind == "array":
        return [_fill(schema.get("items", {}), value)]
    return {"string": value, "integer": 1, "number": 0.5, "boolean": False}.get(str(kind), value)


def _variants(body: dict[str, Any], required: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the whole body, and the required fields with one optional field each."""
    yield body
    needed = {name: body[name] for name in required if name in body}
    for name in body.keys() - needed.keys():
        yield {**needed, name: body[name]}


def _calls(method: str, path: str, value: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield paths and arguments for calls of a route, with a value in every parameter."""
    route = DOCUMENT["paths"][path][method.lower()]
    parameters = route.get("parameters", [])
    where = path
    for each in parameters:
        if each["in"] == "path":
            quoted = "".join(f"%{byte:02X}" for byte in value.encode("utf-8", "replace")) or "%20"
            where = where.replace(f"{{{each['name']}}}", quoted)
    query = {p["name"]: _fill(p["schema"], value) for p in parameters if p["in"] == "query"}
    needed = {p["name"] for p in parameters if p["in"] == "query" and p.get("required")}
    content = route.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        schema = _resolve(content["application/json"]["schema"])
        filled = _fill(schema, value)
        if isinstance(filled, dict) and filled:
            for body in _variants(filled, schema.get("required", [])):
                yield where, {"json": body}
        else:
            yield where, {"json": {value: value}}
    elif _LINES in content:
        yield where, {"content": value.encode(), "headers": {"Content-Type": _LINES}}
    elif _FORM in content:
        yield where, {"files": {"file": (value, value.encode())}}
    else:
        yield where, {}
    for name in query:
        yield where, {"params": {k: v for k, v in query.items() if k == name or k in needed}}


def check(world: World, route: tuple[str, str], values: Iterable[str]) -> None:
    """Call a route as Bob with each value in each parameter."""
    method, path = route
    memory, alice, _ = world
    bob = world.create_stranger()
    before = [str(record) for record in memory.export(owner="alice")]
    for value in values:
        for where, arguments in _calls(method, path, value):
            answered = bob.request(method, where, **arguments)
            assert answered.status_code < 500 or path in NEED_A_MODEL, (where, arguments)
            if WORD not in f"{arguments} {value}".lower():
                assert WORD not in answered.text.lower(), (where, arguments)
            for text in alice.texts:
                assert text == value or text not in answered.text, (where, arguments)
    assert [str(record) for record in memory.export(owner="alice")] == before


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_no_route_reveals_or_changes_data_of_another_owner(
    world: World, route: tuple[str, str]
) -> None:
    check(world, route, [*(kind[0] for kind in _values(world.alice)), PATTERNS[0]])


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_no_route_accepts_any_name_of_another_owner(world: World, route: tuple[str, str]) -> None:
    check(world, route, filter(None, chain.from_iterable(_values(world.alice))))


def expected(path: str, status: HTTPStatus) -> set[HTTPStatus]:
    return {status, HTTPStatus.NOT_IMPLEMENTED} if path in NEED_A_MODEL else {status}


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_owner_key_is_refused_for_another_owner_on_every_route(
    world: World, route: tuple[str, str]
) -> None:
    method, path = route
    if path in NEED_NO_KEY:
        pytest.skip("has no owner, and needs no key")
    where, arguments = next(_calls(method, path, world.alice.memories[0]))
    headers = arguments.pop("headers", {})
    named = {**headers, "X-Owner-Id": "alice"}
    refused = world.create_stranger().request(method, where, headers=named, **arguments)
    assert refused.status_code in expected(path, HTTPStatus.FORBIDDEN), refused.text
    assert WORD not in refused.text
    without = world.anybody.request(method, where, headers=headers, **arguments)
    assert without.status_code in expected(path, HTTPStatus.UNAUTHORIZED), without.text
