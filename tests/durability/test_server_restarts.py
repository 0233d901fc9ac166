"""PostgreSQL is stopped, killed and restarted during use: no acknowledged write is lost.

The engine stays open throughout and reconnects by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest

from memolith import Memolith
from memolith.errors import StoreUnavailable
from support.durability.learning_trials import (
    LONGEST_CALL_S,
    OVER,
    Case,
    Found,
    expected,
    finish,
    trying,
)
from support.durability.store_checks import Tally, check
from support.durability.workload import SHARED, Worker
from support.durability.write_log import Ledger, Line
from support.postgres import new_database
from support.postgres_server import OwnServer, own_server
from support.scripted_learning import PROFILES, say
from support.stores import PLAIN, opened

_PATIENCE_S = 60.0
_WRITERS = 3
_LIVES = 10_000
"""More than the restarts of one writer, so that each gets a unique seed."""


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as running:
        yield running


@pytest.fixture
def store(server: OwnServer) -> Iterator[str]:
    with new_database(server.url) as url:
        yield url


def stop_and_start(server: OwnServer, _store: str) -> None:
    server.stop("fast")
    server.start()


def stop_at_once_and_start(server: OwnServer, _store: str) -> None:
    server.stop("immediate")
    server.start()


def kill_and_start(server: OwnServer, _store: str) -> None:
    server.kill()
    server.start()


def kill_backend(server: OwnServer, store: str) -> None:
    """Kill one backend process: PostgreSQL then ends all of them and recovers."""
    with psycopg.connect(store) as database:
        found = database.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE application_name = 'memolith' AND datname = current_database()"
        ).fetchone()
    assert found is not None
    server.kill_one(found[0])


OUTAGES = (stop_and_start, stop_at_once_and_start, kill_and_start, kill_backend)
Outage = Callable[[OwnServer, str], None]


class Users:
    """Threads that write and recall until stopped; a refused writer continues as a new one.

    A refused call may have been committed all the same. So the next worker has another name and
    changes only its own records.
    """

    def __init__(self, memory: Memolith, seed: int) -> None:
        self.ledger = Ledger()
        self.refused: list[StoreUnavailable] = []
        self.recalls = 0
        self._memory = memory
        self._seed = seed
        self._stop = threading.Event()
        self._told = threading.Condition()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Run the threads for the duration of the block."""
        with ThreadPoolExecutor(_WRITERS + 1) as threads:
            running = [threads.submit(self._write, number) for number in range(_WRITERS)]
            running.append(threads.submit(self._recall))
            try:
                yield
            finally:
                self._stop.set()
            for each in running:
                each.result(_PATIENCE_S)

    def wait(self, calls: int) -> None:
        """Wait until `calls` more calls were acknowledged."""
        enough = self.ledger.acknowledged + calls
        with self._told:
            assert self._told.wait_for(lambda: self.ledger.acknowledged >= enough, _PATIENCE_S)

    def _take(self, line: Line) -> None:
        with self._told:
            self.ledger.take(line)
            self._told.notify_all()

    def _write(self, number: int) -> None:
        for life in count():
            try:
                seed = (self._seed * _WRITERS + number) * _LIVES + life
                self._write_until_refused(f"{number}.{life}", seed)
            except StoreUnavailable as error:
                self.refused.append(error)
            else:
                return

    def _write_until_refused(self, name: str, seed: int) -> None:
        worker = Worker(self._memory, name, seed, self._take)
        while not self._stop.is_set():
            worker.step()

    def _recall(self) -> None:
        while not self._stop.wait(0.002):
            try:
                self._memory.recall("What do I like?", owner=SHARED)
                self.recalls += 1
            except StoreUnavailable as error:
                self.refused.append(error)


def write_through(
    server: OwnServer, store: str, tally: Tally, outages: Sequence[Outage], seed: int
) -> None:
    """Use one open store from several threads through outages, then check its contents."""
    with opened(store, PLAIN) as memory:
        users = Users(memory, seed)
        with users.busy():
            for outage in outages:
                users.wait(calls=8)
                outage(server, store)
            users.wait(calls=8)
        check(memory, users.ledger, tally)
        tally.acknowledged += users.ledger.acknowledged
        tally.trials += len(outages) - 1
        assert users.recalls
    assert [str(error) for error in users.refused if "PostgreSQL at " not in str(error)] == []


def test_no_acknowledged_write_is_lost_in_server_outages(
    server: OwnServer, store: str, tally: Tally
) -> None:
    write_through(server, store, tally, OUTAGES, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("outage", OUTAGES)
def test_no_acknowledged_write_is_lost_in_forty_server_outages(
    server: OwnServer, store: str, tally: Tally, outage: Outage, seed: int
) -> None:
    write_through(server, store, tally, [outage] * 40, seed=seed)


def learn_through(
    server: OwnServer, store: str, folder: Path, tally: Tally, case: Case, outage: Outage
) -> Found:
    """Learn with a model in one process while the server has outages."""
    with (
        trying(store, folder, case) as (trial, chosen),
        trial.opened() as memory,
        ThreadPoolExecutor(1) as apart,
    ):
        say(memory, trial.clock, case.script)
        for _ in range(case.kills):
            enough = trial.model.calls + chosen.randint(1, 6)
            working = apart.submit(memory.work)
            while not working.done() and trial.model.calls < enough:
                threading.Event().wait(LONGEST_CALL_S / 10)
            threading.Event().wait(chosen.uniform(0, 2 * LONGEST_CALL_S))
            outage(server, store)
            with suppress(StoreUnavailable):
                working.result(_PATIENCE_S)
            trial.clock.advance(OVER)
            assert memory.verify().findings == ()
            tally.trials += 1
        return finish(trial, tally)


def test_learning_through_server_outages_gives_the_same_result(
    server: OwnServer, store: str, tmp_path: Path, tally: Tally
) -> None:
    case = Case("tiers", 2, encrypted=True)
    assert learn_through(server, store, tmp_path, tally, case, kill_and_start) == expected(case)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("outage", OUTAGES)
def test_learning_through_twenty_outages_gives_the_same_result(
    server: OwnServer, store: str, tmp_path: Path, tally: Tally, profile: str, outage: Outage
) -> None:
    case = Case(profile, 3, encrypted=True, exchanges=60, kills=20)
    assert learn_through(server, store, tmp_path, tally, case, outage) == expected(case)


CALLS: dict[str, Callable[[Memolith], object]] = {
    "remember": lambda memory: memory.remember("The bicycle is red", owner="alice"),
    "learn": lambda memory: memory.learn("I like tea.", owner="alice"),
    "recall": lambda memory: memory.recall("bicycle", owner="alice"),
    "list": lambda memory: memory.list(owner="alice"),
    "owners": lambda memory: memory.owners(),
    "verify": lambda memory: memory.verify(),
    "erase": lambda memory: memory.erase(owner="alice"),
}


def test_long_outage_raises_store_unavailable_until_the_server_returns(
    server: OwnServer, store: str
) -> None:
    with opened(store, PLAIN, busy_timeout_s=0.2) as memory:
        kept = memory.remember("The bicycle is green", owner="alice")
        server.stop()
        try:
            for call in CALLS.values():
                with pytest.raises(StoreUnavailable, match=r"PostgreSQL at .* can't be reached: "):
                    call(memory)
        finally:
            server.start()
        assert memory.get(kept.id, owner="alice").content == kept.content
        for name, call in CALLS.items():
            assert call(memory) is not None, name
        assert memory.verify().findings == ()


def test_write_waits_for_a_server_that_returns_within_the_timeout(
    server: OwnServer, store: str
) -> None:
    with opened(store, PLAIN, busy_timeout_s=30) as memory, ThreadPoolExecutor(1) as apart:
        memory.remember("The bicycle is green", owner="alice")
        server.stop()
        writing = apart.submit(memory.remember, "The bicycle is red", owner="alice")
        server.start()
        kept = writing.result(_PATIENCE_S)
        assert memory.get(kept.id, owner="alice").content == "The bicycle is red"


def test_opening_a_store_on_a_stopped_server_raises_store_unavailable(
    server: OwnServer, store: str
) -> None:
    server.stop()
    try:
        with pytest.raises(StoreUnavailable, match=r"PostgreSQL at .* can't be reached: "):
            opened(store, PLAIN, busy_timeout_s=0.2)
    finally:
        server.start()
    opened(store, PLAIN).close()
