"""Readiness checks of store, embedder, disk and worker, each with a time limit."""

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
def open_client(engine: Memolith, how: ServerOptions | None = None) -> Iterator[Any]:
    """Yield a client of a server that repeats all checks on each request."""
    app = create_app(engine, how or ServerOptions())
    with TestClient(app, base_url="http://10.0.0.7:8377") as client:  # probes use the address
        readiness: Readiness = app.state.readiness
        ticking = iter(range(0, 1_000_000, 1_000))
        readiness._now_s = lambda: float(next(ticking))
        yield client


def open_memory(url: str | Path, **more: Any) -> Memolith:
    return Memolith.open(url, **{"embedder": HashingEmbedder(), "tokens": WordCounter(), **more})


def problems(client: Any) -> dict[str, str]:
    """Return the reported problems by check."""
    answer = client.get("/readyz")
    if answer.status_code == 200:
        assert answer.json()["status"] == "ok"
        return {}
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    return {each["field"]: each["problem"] for each in answer.json()["errors"]}


def wait_until(is_so: Callable[[], bool]) -> None:
    given_up_at = time.monotonic() + _PATIENCE_S
    while not is_so():
        assert time.monotonic() < given_up_at
        time.sleep(0.02)


def test_response_names_all_checks(tmp_path: Path) -> None:
    with (
        open_memory(tmp_path / "memory.db") as engine,
        open_client(engine, ServerOptions(store_folder=tmp_path)) as client,
    ):
        assert client.get("/readyz").json()["checks"] == {**WELL, "disk": "ok"}


def test_locked_store_fails_the_write_check(tmp_path: Path) -> None:
    config = load(None, {"MEMOLITH_BUSY_TIMEOUT_S": "0.2"})
    with (
        open_memory(tmp_path / "memory.db", config=config) as engine,
        open_client(engine) as client,
    ):
        other = apsw.Connection(str(tmp_path / "memory.db"))
        other.execute("BEGIN IMMEDIATE")
        assert problems(client) == {"write": "failed"}
        other.execute("ROLLBACK")
        assert problems(client) == {}
        other.close()


def test_store_of_a_newer_version_fails_the_read_check(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db") as engine, open_client(engine) as client:
        other = apsw.Connection(str(tmp_path / "memory.db"))
        other.execute("PRAGMA user_version = 99")
        assert problems(client)["read"] == "failed"
        other.close()


def _check_small_disk(folder: Path) -> None:
    mount_tmpfs(folder, 100_000)
    (folder / "own").mkdir()
    path = folder / "own" / "memory.db"
    with (
        open_memory(path) as engine,
        open_client(engine, ServerOptions(store_folder=path.parent)) as client,
    ):
        assert problems(client) == {}
        with filled(folder, but_for_kilobytes=1_000):
            assert problems(client) == {"disk": "failed"}
        assert problems(client) == {}
        engine.close()
    make_read_only(folder)
    with open_memory(path) as engine:
        with open_client(engine) as client:
            assert problems(client) == {"write": "read-only"}
            make_writable(folder)
        with open_client(engine, ServerOptions(read_only=True)) as client:
            assert problems(client) == {}


@pytest.mark.soak
@pytest.mark.sqlite
def test_full_and_read_only_disks_are_reported(tmp_path: Path) -> None:
    run_apart(_check_small_disk, tmp_path)


def test_unresponsive_database_fails_within_the_timeout() -> None:
    config = load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"})
    with new_database(on_server()) as url, psycopg.connect(url) as raw:
        found = raw.execute("SHOW unix_socket_directories").fetchone()
        assert found is not None
        user, name = raw.info.user, raw.info.dbname
        with (
            proxy(str(Path(found[0]) / ".s.PGSQL.5432")) as wire,
            open_memory(
                f"postgresql://{user}@127.0.0.1:{wire.port}/{name}", config=config
            ) as engine,
            open_client(engine) as client,
        ):
            assert problems(client) == {}
            client.app.state.readiness._timeout_s = 0.3
            wire.arm(silent_after=0)
            assert problems(client).keys() >= {"read", "write"}
            assert client.get("/healthz").json() == {"status": "ok"}
            wire.disarm()
            wait_until(lambda: problems(client) == {})


@pytest.mark.soak
def test_stopped_database_is_reported_until_it_restarts() -> None:
    with own_server() as server:
        config = load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"})
        with open_memory(server.url, config=config) as engine, open_client(engine) as client:
            assert problems(client) == {}
            server.stop()
            wait_until(lambda: problems(client).keys() >= {"read", "write"})
            server.start()
            wait_until(lambda: problems(client) == {})


def test_failing_embedding_service_is_reported_without_its_message(tmp_path: Path) -> None:
    broken = threading.Event()

    def embed(_: ReceivedRequest) -> Answer | None:
        return error_answer(500, message="secret") if broken.is_set() else None

    model = select_model("of-my-own", 0)
    care = ServiceGuard(
        retry_policy=RetryPolicy(max_retries=1), breaker_policy=BreakerPolicy(failures=1_000)
    )
    with ModelServer(embed=embed) as service:
        asked = OpenAIVectorService(model, api_key="key", base_url=service.openai_url, timeout_s=20)
        with (
            closing(ServiceEmbedder(asked, model, None, care)) as embedder,
            open_memory(tmp_path / "m.db", embedder=embedder) as engine,
            open_client(engine) as client,
        ):
            wait_until(lambda: problems(client) == {})  # its client loads slowly
            broken.set()
            wait_until(lambda: problems(client) == {"embedder": "failed"})
            assert "secret" not in client.get("/readyz").text
            broken.clear()
            wait_until(lambda: problems(client) == {})


def test_dead_worker_is_reported(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.db") as engine:
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


def test_hanging_check_is_reported_as_slow_and_runs_once() -> None:
    checks: list[str] = []
    go_on = threading.Event()

    def hang() -> None:
        checks.append("hang")
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
    assert checks == ["hang"]


def test_check_result_is_cached() -> None:
    checks: list[float] = []
    now = [0.0]
    readiness = Readiness(
        (Check("is", lambda: checks.append(now[0]), cache_s=30),), now_s=lambda: now[0]
    )
    for now[0] in (0.0, 1.0, 29.0, 31.0, 40.0):
        assert asyncio.run(readiness.get_states()) == {"is": "ok"}
    readiness.close()
    assert checks == [0.0, 31.0]
