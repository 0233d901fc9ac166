"""Two servers on one PostgreSQL store behave as one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.config import load
from memolith.demo.model_server import ModelServer, ReceivedRequest
from memolith.server.app import ServerOptions, create_app
from memolith.server.serve import build_proxy_options, build_upstream
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.chat_proxy import user
from support.postgres import new_database, on_server
from support.scripted_learning import client
from support.server_process import environment, served

_WAIT_S = 20.0


@dataclass(frozen=True, slots=True)
class Two:
    """Two servers, each asked by a client of its own kind."""

    one: Any
    other: Any
    keys: Memolith
    model: ModelServer

    def key(self, name: str) -> dict[str, str]:
        made = self.keys.create_api_key(name, owner=name)
        return {"Authorization": f"Bearer {made.secret}"}


def answer(request: ReceivedRequest) -> Any:
    if request.headers["user-agent"] != "memolith":  # Memolith's own question
        return {"facts": []}
    return "I see."


def settings(folder: Path, url: str, model: ModelServer) -> dict[str, str]:
    return environment(
        folder,
        MEMOLITH_STORE=url,
        MEMOLITH_CHAT__PROVIDER="openai",
        MEMOLITH_CHAT__MODEL="scripted",
        MEMOLITH_CHAT__BASE_URL=model.openai_url,
        MEMOLITH_PROXY__MEMORY_TIMEOUT_MS="20000",  # on a machine that is busy
        OPENAI_API_KEY="sk-upstream",
    )


@contextmanager
def within(env: dict[str, str], model: ModelServer) -> Iterator[TestClient]:
    """Run a server in this process, with an embedder that needs no model."""
    loaded = load(None, env)
    with Memolith.open(
        config=loaded,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        chat=client(model.openai_url),
    ) as engine:
        upstream = build_upstream(loaded.settings.chat, env)
        how = ServerOptions(upstream=upstream, proxy_options=build_proxy_options(loaded.settings))
        with TestClient(create_app(engine, how), base_url="http://localhost") as opened:
            yield opened


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.soak)])
def two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    """Run them: as processes of their own in the long run, else in this one."""
    with ModelServer(answer) as model, new_database(on_server()) as url:
        env = settings(tmp_path_factory.mktemp("two"), url, model)
        start = served if request.param else partial(within, model=model)
        with Memolith.open(config=load(None, env), worker=False) as keys:
            keys.create_api_key("first", role="admin")  # else both are open for one owner
            with start(env) as one, start(env) as other:
                yield Two(one, other, keys, model)


def until(is_so: Callable[[], bool]) -> None:
    given_up_at = time.monotonic() + _WAIT_S
    while not is_so():
        assert time.monotonic() < given_up_at
        time.sleep(0.05)


def test_what_is_written_at_one_is_read_at_the_other(two: Two) -> None:
    headers = two.key("alice")
    made = two.one.post("/v1/memories", json={"content": "Likes green tea"}, headers=headers)
    id_ = made.json()["id"]
    assert two.other.get(f"/v1/memories/{id_}", headers=headers).json()["content"]
    found = two.other.post("/v1/recall", json={"query": "green tea"}, headers=headers)
    assert [each["id"] for each in found.json()["memories"]] == [id_]
    assert two.other.delete(f"/v1/memories/{id_}", headers=headers).status_code == 200
    assert (
        two.one.post("/v1/recall", json={"query": "tea"}, headers=headers).json()["memories"] == []
    )


def test_a_request_sent_again_to_the_other_is_not_done_again(two: Two) -> None:
    headers = {**two.key("bob"), "Idempotency-Key": "once"}
    first, again = (
        each.post("/v1/memories", json={"content": "Plays chess"}, headers=headers)
        for each in (two.one, two.other)
    )
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.content == first.content


def test_a_key_revoked_opens_nothing_at_once_at_both(two: Two) -> None:
    headers = two.key("carol")
    for each in (two.one, two.other):
        assert each.get("/v1/memories", headers=headers).status_code == 200
    two.keys.revoke_api_key("carol")
    for each in (two.one, two.other):
        assert each.get("/v1/memories", headers=headers).status_code == 401


def test_a_conversation_goes_on_at_the_other_and_is_learned_from_once(two: Two) -> None:
    headers = {**two.key("dave"), "X-Memolith-Session": "chat"}
    history: list[dict[str, Any]] = []
    texts = ["I moved to Oslo", "I like skiing", "I have a dog"]
    for text, each in zip(texts, (two.one, two.other, two.one), strict=True):
        history.append(user(text))
        for _ in range(2):  # the second time is a retry
            sent = each.post("/v1/chat/completions", json={"messages": history}, headers=headers)
            assert sent.headers["X-Memolith-Memory"] == "on"
        history.append(sent.json()["choices"][0]["message"])

    def said() -> list[str]:
        sent = two.other.get("/v1/sessions/chat/messages", headers=headers)
        return [each["content"] for each in sent.json()["messages"]]

    until(lambda: len(said()) == 6)
    until(lambda: two.keys.owner("dave").backlog().pending_messages == 0)
    assert [each for each in said() if each != "I see."] == texts
    learned = [each.user for each in two.model.requests if each.schema is not None]
    assert learned
    assert len(set(learned)) == len(learned) <= len(texts)
