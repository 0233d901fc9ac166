"""A page in a real browser can neither read nor write, unless it is of an origin that may."""

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

TOLD = "The cellar opens with Sesame."
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
"""Where it matters what is sent; to others goes an empty object."""


Answered = list[tuple[str, str, int]]


class Noting:
    """Notes what an app answers to what."""

    def __init__(self, app: ASGIApp, answered: Answered) -> None:
        self._app = app
        self._answered = answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answered.append((scope["method"], scope["path"], message["status"]))
            await send(message)

        await self._app(scope, receive, note)


@dataclass(frozen=True, slots=True)
class Attacked:
    """What came of it where pages tried to reach a service of Alice's, and one of Bob's.

    Attributes:
        routes: What they tried.
        answered: What Alice's service answered.
        changed: What they changed of her memory.
        bobs: What Bob remembers in the end, who lets some pages in.
        reports: What the pages have seen.
    """

    routes: list[Route]
    answered: Answered
    changed: list[object]
    bobs: list[str]
    reports: Mapping[str, Report]

    def seen(self, page: str) -> str:
        """Return all that a page has read."""
        return " ".join(each["text"] for each in self.reports[page])


def routes_of(app: FastAPI, id_: str) -> list[Route]:
    """Return all that there are, for a memory that is there."""
    documented = app.openapi()["paths"]
    found = [(method.upper(), path) for path, ways in documented.items() for method in ways]
    found += [("GET", "/mcp"), ("POST", "/mcp"), ("GET", "/openapi.json")]
    return [Route(method, _at(path, id_), _body(method, path)) for method, path in found]


def _at(path: str, id_: str) -> str:
    asked = "?q=cellar" if path.endswith("/search") else "?key=cellar" * ("/keyed" in path)
    return path.replace("{id}", id_).replace("{session}", "default") + asked


def _body(method: str, path: str) -> str:
    return "" if method == "GET" else json.dumps(BODIES.get(path, {}))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    program = browser()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    return _attacked(program, tmp_path_factory.mktemp("browser"))


def _attacked(program: str, folder: Path) -> Attacked:
    with ExitStack() as open_:
        engine = open_.enter_context(
            Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter())
        )
        told = engine.remember(TOLD, owner="alice", key="cellar")
        engine.remember(TOLD, owner="bob")
        engine.learn("I live in Oslo", "I see.", owner="alice")
        before = list(engine.export(owner="alice"))
        sites = open_.enter_context(serving())
        friends = frozenset({f"http://friend.example:{sites.port}"})
        answered: Answered = []
        alices = create_app(engine, ServerOptions(anonymous_owner="alice", upstream=Echo()))
        alices.add_middleware(Noting, answered=answered)
        bobs = create_app(engine, ServerOptions("bob", frozenset({"*"}), friends, upstream=Echo()))
        routes = routes_of(alices, told.id)
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
        return Attacked(routes, answered, changed, contents, reports)


def test_no_page_of_another_origin_changes_anything(attacked: Attacked) -> None:
    assert attacked.changed == []


def test_no_page_of_another_origin_reads_anything(attacked: Attacked) -> None:
    for page in ("evil", "rebound"):
        assert "Sesame" not in attacked.seen(page)
        assert "Oslo" not in attacked.seen(page)


def test_nothing_that_such_a_page_asks_comes_further_than_the_door(attacked: Attacked) -> None:
    passed = [each for each in attacked.answered if each[2] not in REFUSED]
    assert [each for each in passed if each[1] not in PROBES] == []


def test_every_route_was_tried(attacked: Attacked) -> None:
    tried = {(method, path) for method, path, _ in attacked.answered}
    for route in attacked.routes:
        asked = "OPTIONS" if route.method in PREFLIGHTED else route.method
        assert (asked, route.path.partition("?")[0]) in tried


def test_a_page_of_an_origin_that_is_let_in_reads_and_writes(attacked: Attacked) -> None:
    assert "Sesame" in attacked.seen("friend")
    assert "Mallory was here" in attacked.bobs


def test_where_any_name_will_do_another_name_for_the_service_reads(attacked: Attacked) -> None:
    assert "Sesame" in attacked.seen("lenient")
