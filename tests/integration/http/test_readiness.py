"""Ready is what can read, write and embed: looked at, and bounded in time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from fastapi.testclient import TestClient

from memolith import Memolith
from memolith.adapters.models.embedding_service import ServiceEmbedder
from memolith.adapters.models.openai import OpenAIVectorService
from memolith.adapters.models.resilience import ServiceGuard
from memolith.config import load
from memolith.demo.model_server import Answer, ModelServer, ReceivedRequest, error_answer
from memolith.errors import StoreUnavailable
from memolith.policies.embedding_models import select_model
from memolith.policies.retries import BreakerPolicy, RetryPolicy
from memolith.server.app import ServerOptions, create_app
from memolith.server.readiness import Check, Readiness
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.mount_namespace import filled, make_read_only, make_writable, mount_tmpfs, run_apart
from support.postgres import new_database, on_server
from support.postgres_proxy import proxy
from support.postgres_server import own_server

WELL = {"read": "ok", "write": "ok", "embedder": "ok", "worker": "ok"}
_PATIENCE_S = 20.0


@contextmanager
def serving(engine: Memolith, how: ServerOptions | None = None) -> Iterator[Any]:
    """Give a client of a service that looks at everything anew each time."""
    app = create_app(engine, how or ServerOptions())
    with TestClient(app, base_url="http://10.0.0.7:8377") as client:  # by address, as probes do
        readiness: Readiness = app.state.readiness
        ticking = iter(range(0, 1_000_000, 1_000))
        readiness._now_s = lambda: float(next(ticking))
        yield client


def opened(url: str | Path, **more: Any) -> Memolith:
    return Memolith.open(url, **{"embedder": HashingEmbedder(), "tokens": WordCounter(), **more})


def problems(client: Any) -> dict[str, str]:
    """Return what is said to be wrong."""
    answer = client.get("/readyz")
    if answer.status_code == 200:
        assert answer.json()["status"] == "ok"
        return {}
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    return {each["field"]: each["problem"] for each in answer.json()["errors"]}


def until(is_so: Callable[[], bool]) -> None:
    given_up_at = time.monotonic() + _PATIENCE_S
    while not is_so():
        assert time.monotonic() < given_up_at
        time.sleep(0.02)


def test_all_that_is_looked_at_is_named(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "memory.db") as engine,
        serving(engine, ServerOptions(store_folder=tmp_path)) as client,
    ):
        assert client.get("/readyz").json()["checks"] == {**WELL, "disk": "ok"}


def test_a_locked_store_is_not_waited_for(tmp_path: Path) -> None:
    config = load(None, {"MEMOLITH_BUSY_TIMEOUT_S": "0.2"})
    with opened(tmp_path / "memory.db", config=config) as engine, serving(engine) as client:
        other = apsw.Connection(str(tmp_path / "memory.db"))
        other.execute("BEGIN IMMEDIATE")
        assert problems(client) == {"write": "failed"}
        other.execute("ROLLBACK")
        assert problems(client) == {}
        other.close()


def test_a_store_that_a_newer_version_has_upgraded_is_not_served(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as engine, serving(engine) as client:
        other = apsw.Connection(str(tmp_path / "memory.db"))
        other.execute("PRAGMA user_version = 99")
        assert problems(client)["read"] == "failed"
        other.close()


def _looks_at_a_small_disk(folder: Path) -> None:
    mount_tmpfs(folder, 100_000)
    (folder / "own").mkdir()
    path = folder / "own" / "memory.db"
    with opened(path) as engine, serving(engine, ServerOptions(store_folder=path.parent)) as client:
        assert problems(client) == {}
        with filled(folder, but_for_kilobytes=1_000):
            assert problems(client) == {"disk": "failed"}
        assert problems(client) == {}
        engine.close()
    make_read_only(folder)
    with opened(path) as engine:
        with serving(engine) as client:
            assert problems(client) == {"write": "read-only"}
            make_writable(folder)
        with serving(engine, ServerOptions(read_only=True)) as client:
            assert problems(client) == {}


@pytest.mark.soak
@pytest.mark.sqlite
def test_a_disk_that_is_full_or_read_only_is_told(tmp_path: Path) -> None:
    run_apart(_looks_at_a_small_disk, tmp_path)


def test_a_database_that_went_silent_is_not_waited_for() -> None:
    config = load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"})
    with new_database(on_server()) as url, psycopg.connect(url) as raw:
        found = raw.execute("SHOW unix_socket_directories").fetchone()
        assert found is not None
        user, name = raw.info.user, raw.info.dbname
        with (
            proxy(str(Path(found[0]) / ".s.PGSQL.5432")) as wire,
            opened(f"postgresql://{user}@127.0.0.1:{wire.port}/{name}", config=config) as engine,
            serving(engine) as client,
        ):
            assert problems(client) == {}
            client.app.state.readiness._timeout_s = 0.3
            wire.arm(silent_after=0)
            assert problems(client).keys() >= {"read", "write"}
            assert client.get("/healthz").json() == {"status": "ok"}
            wire.disarm()
            until(lambda: problems(client) == {})


@pytest.mark.soak
def test_a_database_that_was_stopped_and_comes_back_is_told() -> None:
    with own_server() as server:
        config = load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"})
        with opened(server.url, config=config) as engine, serving(engine) as client:
            assert problems(client) == {}
            server.stop()
            until(lambda: problems(client).keys() >= {"read", "write"})
            server.start()
            until(lambda: problems(client) == {})


def test_an_embedding_service_that_fails_is_told_and_what_it_said_is_not(tmp_path: Path) -> None:
    broken = threading.Event()

    def embed(_: ReceivedRequest) -> Answer | None:
        return error_answer(500, message="secret") if broken.is_set() else None

    told = select_model("of-my-own", 0)
    care = ServiceGuard(
        retry_policy=RetryPolicy(max_retries=1), breaker_policy=BreakerPolicy(failures=1_000)
    )
    with ModelServer(embed=embed) as service:
        asked = OpenAIVectorService(told, api_key="key", base_url=service.openai_url, timeout_s=20)
        with (
            closing(ServiceEmbedder(asked, told, None, care)) as embedder,
            opened(tmp_path / "m.db", embedder=embedder) as engine,
            serving(engine) as client,
        ):
            until(lambda: problems(client) == {})  # its client takes long to load
            broken.set()
            until(lambda: problems(client) == {"embedder": "failed"})
            assert "secret" not in client.get("/readyz").text
            broken.clear()
            until(lambda: problems(client) == {})


def test_a_worker_that_died_is_told(tmp_path: Path) -> None:
    with opened(tmp_path / "memory.db") as engine:
        app = create_app(engine, ServerOptions(runs_jobs=True))
        with TestClient(app, base_url="http://localhost") as client:
            assert problems(client) == {}
            ended = threading.Thread(target=str)
            ended.start()
            ended.join()
            alive, app.state.jobs._thread = app.state.jobs._thread, ended
            app.state.readiness._now_s = lambda: float("inf")
            assert problems(client) == {"worker": "failed"}
            app.state.jobs._thread = alive


def test_what_hangs_is_slow_holds_up_nothing_else_and_is_looked_at_once() -> None:
    looks: list[str] = []
    go_on = threading.Event()

    def hang() -> None:
        looks.append("hang")
        go_on.wait(_PATIENCE_S)

    def fail() -> None:
        raise StoreUnavailable("not there")

    times = iter(range(0, 1_000, 100))
    readiness = Readiness(
        (Check("hangs", hang), Check("fails", fail), Check("is", lambda: None)),
        timeout_s=0.1,
        now_s=lambda: float(next(times)),
    )
    states = [asyncio.run(readiness.get_states()) for _ in range(3)]
    go_on.set()
    readiness.close()
    assert states == [{"hangs": "slow", "fails": "failed", "is": "ok"}] * 3
    assert looks == ["hang"]


def test_who_asks_often_costs_little() -> None:
    looks: list[float] = []
    now = [0.0]
    readiness = Readiness(
        (Check("is", lambda: looks.append(now[0]), cache_s=30),), now_s=lambda: now[0]
    )
    for now[0] in (0.0, 1.0, 29.0, 31.0, 40.0):
        assert asyncio.run(readiness.get_states()) == {"is": "ok"}
    readiness.close()
    assert looks == [0.0, 31.0]
