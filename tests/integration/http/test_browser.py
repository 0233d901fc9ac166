"""Pages in a real browser can read and write only if their origin is allowed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memolith import Memolith
from memolith.server.app import ServerOptions, create_app
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.browser import Page, Report, Route, browser, serving, show
from support.chat_proxy import Echo
from support.http_server import running

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

FACT = "The cellar opens with Sesame."
PROBES = {"/healthz", "/readyz"}
REFUSED = {403, 421}
PREFLIGHTED = {"PUT", "PATCH", "DELETE"}

BODIES: Mapping[str, Any] = {
    "/v1/memories": {"content": "Mallory was here"},
    "/v1/recall": {"query": "cellar"},
    "/v1/context": {"query": "cellar"},
    "/v1/learn": {"user": "Mallory was here", "assistant": "I see."},
    "/v1/ingest": {"text": "Mallory was here"},
    "/v1/forget": {"key": "cellar"},
    "/v1/purge": {"key": "cellar"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Mallory was here"}]},
    "/chat/text": {"text": "Mallory was here"},
    "/context/sensors": {"mallory": "was here"},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
}
"""Request bodies by route; other routes receive an empty object."""


Responses = list[tuple[str, str, int]]


class ResponseRecorder:
    """Middleware that records requests and their response statuses."""

    def __init__(self, app: ASGIApp, answered: Responses) -> None:
        self._app = app
        self._answered = answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answered.append((scope["method"], scope["path"], message["status"]))
            await send(message)

        await self._app(scope, receive, note)


@dataclass(frozen=True, slots=True)
class AttackResult:
    """The result of pages that tried to reach the servers of Alice and Bob.

    Attributes:
        routes: The routes that the pages tried.
        answered: The responses of Alice's server.
        changed: The changed records of Alice.
        bobs: The final memories of Bob, whose server allows some pages.
        reports: The responses that the pages could read.
    """

    routes: list[Route]
    answered: Responses
    changed: list[object]
    bobs: list[str]
    reports: Mapping[str, Report]

    def seen(self, page: str) -> str:
        """Return all text that a page has read."""
        return " ".join(each["text"] for each in self.reports[page])


def routes_of(app: FastAPI, id_: str) -> list[Route]:
    """Return all routes, filled in with the id of an existing memory."""
    documented = app.openapi()["paths"]
    found = [(method.upper(), path) for path, ways in documented.items() for method in ways]
    found += [("GET", "/mcp"), ("POST", "/mcp"), ("GET", "/openapi.json")]
    return [Route(method, _path(path, id_), _body(method, path)) for method, path in found]


def _path(path: str, id_: str) -> str:
    asked = "?q=cellar" if path.endswith("/search") else "?key=cellar" * ("/keyed" in path)
    return path.replace("{id}", id_).replace("{session}", "default") + asked


def _body(method: str, path: str) -> str:
    return "" if method == "GET" else json.dumps(BODIES.get(path, {}))


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> AttackResult:
    program = browser()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    return _run_attack(program, tmp_path_factory.mktemp("browser"))


def _run_attack(program: str, folder: Path) -> AttackResult:
    with ExitStack() as open_:
        engine = open_.enter_context(
            Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter())
        )
        stored = engine.remember(FACT, owner="alice", key="cellar")
        engine.remember(FACT, owner="bob")
        engine.learn("I live in Oslo", "I see.", owner="alice")
        before = list(engine.export(owner="alice"))
        sites = open_.enter_context(serving())
        friends = frozenset({f"http://friend.example:{sites.port}"})
        answered: Responses = []
        alices = create_app(engine, ServerOptions(anonymous_owner="alice", upstream=Echo()))
        alices.add_middleware(ResponseRecorder, answered=answered)
        bobs = create_app(engine, ServerOptions("bob", frozenset({"*"}), friends, upstream=Echo()))
        routes = routes_of(alices, stored.id)
        alices_url = open_.enter_context(running(alices))
        bobs_url = open_.enter_context(running(bobs))
        few = [route for route in routes if route.path == "/v1/memories"]
        pages = (
            Page("evil", routes, target=alices_url),
            Page("rebound", routes, leads_to=alices_url),
            Page("friend", [each for each in few if each.method != "DELETE"], target=bobs_url),
            Page("lenient", few[:1], leads_to=bobs_url),
        )
        sites.pages = {page.name: page for page in pages}
        reports = show(program, sites, folder)
        engine.flush()
        after = list(engine.export(owner="alice"))
        changed: list[object] = [each for each in after if each not in before]
        changed += [each for each in before if each not in after]
        contents = [each.content for each in engine.list(owner="bob", limit=100).memories]
        return AttackResult(routes, answered, changed, contents, reports)


def test_page_of_another_origin_changes_nothing(attack: AttackResult) -> None:
    assert attack.changed == []


def test_page_of_another_origin_reads_nothing(attack: AttackResult) -> None:
    for page in ("evil", "rebound"):
        assert "Sesame" not in attack.seen(page)
        assert "Oslo" not in attack.seen(page)


def test_requests_of_other_origins_are_refused_by_the_middleware(attack: AttackResult) -> None:
    passed = [each for each in attack.answered if each[2] not in REFUSED]
    assert [each for each in passed if each[1] not in PROBES] == []


def test_attack_covers_every_route(attack: AttackResult) -> None:
    tried = {(method, path) for method, path, _ in attack.answered}
    for route in attack.routes:
        asked = "OPTIONS" if route.method in PREFLIGHTED else route.method
        assert (asked, route.path.partition("?")[0]) in tried


def test_page_of_an_allowed_origin_reads_and_writes(attack: AttackResult) -> None:
    assert "Sesame" in attack.seen("friend")
    assert "Mallory was here" in attack.bobs


def test_wildcard_host_allows_dns_rebinding(attack: AttackResult) -> None:
    assert "Sesame" in attack.seen("lenient")
