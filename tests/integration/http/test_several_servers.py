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
class ServerPair:
    """Clients of two servers, with their shared keys and model."""

    one: Any
    other: Any
    keys: Memolith
    model: ModelServer

    def key(self, name: str) -> dict[str, str]:
        made = self.keys.create_api_key(name, owner=name)
        return {"Authorization": f"Bearer {made.secret}"}


def answer(request: ReceivedRequest) -> Any:
    if request.headers["user-agent"] != "memolith":  # a request of Memolith itself
        return {"facts": []}
    return "I see."


def settings(folder: Path, url: str, model: ModelServer) -> dict[str, str]:
    return environment(
        folder,
        MEMOLITH_STORE=url,
        MEMOLITH_CHAT__PROVIDER="openai",
        MEMOLITH_CHAT__MODEL="scripted",
        MEMOLITH_CHAT__BASE_URL=model.openai_url,
        MEMOLITH_PROXY__MEMORY_TIMEOUT_MS="20000",  # for busy machines
        OPENAI_API_KEY="sk-upstream",
    )


@contextmanager
def run_in_process(env: dict[str, str], model: ModelServer) -> Iterator[TestClient]:
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
def two(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerPair]:
    """Run two servers: as separate processes in soak runs, otherwise in this process."""
    with ModelServer(answer) as model, new_database(on_server()) as url:
        env = settings(tmp_path_factory.mktemp("two"), url, model)
        start = served if request.param else partial(run_in_process, model=model)
        with Memolith.open(config=load(None, env), worker=False) as keys:
            keys.create_api_key("first", role="admin")  # otherwise both allow anonymous access
            with start(env) as one, start(env) as other:
                yield ServerPair(one, other, keys, model)


def wait_until(is_so: Callable[[], bool]) -> None:
    given_up_at = time.monotonic() + _WAIT_S
    while not is_so():
        assert time.monotonic() < given_up_at
        time.sleep(0.05)


def test_memory_written_on_one_server_is_read_on_the_other(two: ServerPair) -> None:
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


def test_request_repeated_on_the_other_server_runs_once(two: ServerPair) -> None:
    headers = {**two.key("bob"), "Idempotency-Key": "once"}
    first, again = (
        each.post("/v1/memories", json={"content": "Plays chess"}, headers=headers)
        for each in (two.one, two.other)
    )
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.content == first.content


def test_revoked_key_is_refused_on_both_servers(two: ServerPair) -> None:
    headers = two.key("carol")
    for each in (two.one, two.other):
        assert each.get("/v1/memories", headers=headers).status_code == 200
    two.keys.revoke_api_key("carol")
    for each in (two.one, two.other):
        assert each.get("/v1/memories", headers=headers).status_code == 401


def test_conversation_across_servers_is_learned_once(two: ServerPair) -> None:
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

    wait_until(lambda: len(said()) == 6)
    wait_until(lambda: two.keys.owner("dave").backlog().pending_messages == 0)
    assert [each for each in said() if each != "I see."] == texts
    learned = [each.user for each in two.model.requests if each.schema is not None]
    assert learned
    assert len(set(learned)) == len(learned) <= len(texts)
