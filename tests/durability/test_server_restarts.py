"""The server is stopped, killed and started while it is used: nothing acknowledged is lost.

The engine stays open through it all: it finds the server again by itself.
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
"""More than a writer has: each is to say what no other says."""


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


def kill_what_serves(server: OwnServer, store: str) -> None:
    """Kill one of the processes that serve the writers: all are ended, and the server recovers."""
    with psycopg.connect(store) as database:
        found = database.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE application_name = 'memolith' AND datname = current_database()"
        ).fetchone()
    assert found is not None
    server.kill_one(found[0])


TROUBLES = (stop_and_start, stop_at_once_and_start, kill_and_start, kill_what_serves)
Trouble = Callable[[OwnServer, str], None]


class Users:
    """Threads that write and recall until they are told to stop; the refused go on as others.

    A call that was refused may have been done all the same: so each is of another worker, who
    changes only what is its own.
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
        """Let them work while the block lasts."""
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
        """Wait until so many more calls were acknowledged."""
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
    server: OwnServer, store: str, tally: Tally, troubles: Sequence[Trouble], seed: int
) -> None:
    """Let threads use one open store through troubles, and look what is there afterwards."""
    with opened(store, PLAIN) as memory:
        users = Users(memory, seed)
        with users.busy():
            for trouble in troubles:
                users.wait(calls=8)
                trouble(server, store)
            users.wait(calls=8)
        check(memory, users.ledger, tally)
        tally.acknowledged += users.ledger.acknowledged
        tally.trials += len(troubles) - 1
        assert users.recalls
    assert [str(error) for error in users.refused if "PostgreSQL at " not in str(error)] == []


def test_nothing_acknowledged_is_lost_with_a_server(
    server: OwnServer, store: str, tally: Tally
) -> None:
    write_through(server, store, tally, TROUBLES, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_nothing_acknowledged_is_lost_with_a_server_forty_times(
    server: OwnServer, store: str, tally: Tally, trouble: Trouble, seed: int
) -> None:
    write_through(server, store, tally, [trouble] * 40, seed=seed)


def learn_through(
    server: OwnServer, store: str, folder: Path, tally: Tally, case: Case, trouble: Trouble
) -> Found:
    """Learn with a model on a server that has troubles, in one process that stays open."""
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
            trouble(server, store)
            with suppress(StoreUnavailable):
                working.result(_PATIENCE_S)
            trial.clock.advance(OVER)
            assert memory.verify().findings == ()
            tally.trials += 1
        return finish(trial, tally)


def test_learning_through_a_servers_troubles_ends_as_without(
    server: OwnServer, store: str, tmp_path: Path, tally: Tally
) -> None:
    case = Case("tiers", 2, encrypted=True)
    assert learn_through(server, store, tmp_path, tally, case, kill_and_start) == expected(case)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_learning_through_twenty_troubles_ends_as_without(
    server: OwnServer, store: str, tmp_path: Path, tally: Tally, profile: str, trouble: Trouble
) -> None:
    case = Case(profile, 3, encrypted=True, exchanges=60, kills=20)
    assert learn_through(server, store, tmp_path, tally, case, trouble) == expected(case)


CALLS: dict[str, Callable[[Memolith], object]] = {
    "remember": lambda memory: memory.remember("The bicycle is red", owner="alice"),
    "learn": lambda memory: memory.learn("I like tea.", owner="alice"),
    "recall": lambda memory: memory.recall("bicycle", owner="alice"),
    "list": lambda memory: memory.list(owner="alice"),
    "owners": lambda memory: memory.owners(),
    "verify": lambda memory: memory.verify(),
    "erase": lambda memory: memory.erase(owner="alice"),
}


def test_a_server_that_stays_away_is_told_of_in_time_and_met_again(
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


def test_a_write_waits_for_a_server_that_comes_back_in_time(server: OwnServer, store: str) -> None:
    with opened(store, PLAIN, busy_timeout_s=30) as memory, ThreadPoolExecutor(1) as apart:
        memory.remember("The bicycle is green", owner="alice")
        server.stop()
        writing = apart.submit(memory.remember, "The bicycle is red", owner="alice")
        server.start()
        kept = writing.result(_PATIENCE_S)
        assert memory.get(kept.id, owner="alice").content == "The bicycle is red"


def test_a_server_that_is_starting_or_away_is_told_of_by_who_opens_it(
    server: OwnServer, store: str
) -> None:
    server.stop()
    try:
        with pytest.raises(StoreUnavailable, match=r"PostgreSQL at .* can't be reached: "):
            opened(store, PLAIN, busy_timeout_s=0.2)
    finally:
        server.start()
    opened(store, PLAIN).close()
