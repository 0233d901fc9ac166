"""Nobody reads, changes or finds out what is another owner's, by any door.

The measure is a second store in which the other owner never was: every call must give there what
it gives here, to the letter, errors included. And what the other owner has, down to the rows of
the file, must be the same afterwards.

Nor may the work of a call depend on another owner. Two measures are compared: the statements that
run with the rows that each scans and sorts (in PostgreSQL the rows that each returns), and the
number of embedded texts. As all keys begin with the owner, no statement scans another's rows. Not
covered: waiting for a lock or for memory, and the process's cache of word stems.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, ClassVar

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.inmemory.store import InMemoryStore
from memolith.adapters.postgres import connections
from memolith.adapters.postgres.connections import Connection
from memolith.adapters.postgres.schema import owner_number
from memolith.bootstrap import Services
from memolith.config import load
from memolith.domain import owners as waiting
from memolith.errors import NotFound
from memolith.ports.service import ModelUsage
from memolith.ports.store import Store
from memolith.ports.work import WorkLease
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.postgres import dropped, on_server, own, rows_of
from support.tenant_isolation import (
    DOORS,
    HOSTILE_ORDER,
    OPERATORS,
    READING,
    Call,
    Things,
    furnish,
    ids_of,
    outcome,
)

WORD, OWN_WORD = "zufibolema", "kovadirune"
KINDS = (
    "encrypted",
    "plain",
    "inmemory",
    "postgres",
    pytest.param("encrypted postgres", marks=pytest.mark.soak),
)
NOW = datetime(2026, 3, 2, tzinfo=UTC)


ROWS = (
    "SQLITE_STMTSTATUS_FULLSCAN_STEP",
    "SQLITE_STMTSTATUS_SORT",
    "SQLITE_STMTSTATUS_AUTOINDEX",
)


@dataclass(slots=True)
class Work:
    """The statements and embeddings of a store, in order, while it is watched."""

    folder: Path
    done: list[object] = field(default_factory=list)
    is_watched: bool = False
    hashing: HashingEmbedder = field(default_factory=lambda: HashingEmbedder(64))

    def watch(self, connection: apsw.Connection) -> None:
        if Path(connection.filename).is_relative_to(self.folder):
            connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._note_statement)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        if self.is_watched:
            self.done.append(("embedded", len(texts)))
        return self.hashing.embed(texts, role="document")

    @contextmanager
    def watched(self) -> Iterator[list[object]]:
        self.done, self.is_watched = [], True
        try:
            yield self.done
        finally:
            self.is_watched = False

    def note(self, statement: str, rows: int) -> None:
        """Note a statement and how many rows it gave, if it is the call's."""
        if self.is_watched and current_thread() is main_thread():
            self.done.append((statement, rows))

    def _note_statement(self, event: dict[str, object]) -> None:
        status = event["stmt_status"]
        is_of_the_call = self.is_watched and current_thread() is main_thread()
        if is_of_the_call and isinstance(status, dict):
            self.done.append((event["sql"], *(status[name] for name in ROWS)))


class Noted(Connection):
    """A connection to PostgreSQL whose statements are noted."""

    __slots__ = ()
    works: ClassVar[list[Work]] = []

    def _execute(self, statement: str, values: Sequence[Any]) -> Any:
        cursor = super()._execute(statement, values)
        for work in self.works:
            work.note(statement, cursor.rowcount)
        return cursor

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        given = list(rows)
        for work in self.works:
            work.note(statement, len(given))
        super().run_many(statement, given)


@dataclass(frozen=True, slots=True)
class World:
    """A store in a folder, or a schema, of its own."""

    memory: Memolith
    work: Work
    schema: str | None = None

    def answer(
        self, door: str, call: Call, owner: str, known: frozenset[str]
    ) -> tuple[str, list[object]]:
        """Return what a call gives, and the work that it was."""
        with self.work.watched() as done:
            given = outcome(lambda: call(self.memory, door, owner), known)
        self.memory.flush()  # what waits would be written at another time than in another world
        return given, done

    def rows(self, owner: str) -> object:
        """Return all that the store has of an owner, as it stands there."""
        store = self.memory._app.store
        if isinstance(store, InMemoryStore):
            return repr(store._states.get(owner))
        if self.schema:
            return rows_of(on_server(), self.schema, owner_number(owner))
        with closing(apsw.Connection(str(self.work.folder / "memory.db"))) as file:
            found = file.execute("SELECT * FROM owners WHERE name = ?", (owner,)).fetchall()
            tables = file.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%owner_id INT%'")
            return found, {
                table: file.execute(
                    f"SELECT * FROM {table} WHERE owner_id = ? ORDER BY 1, 2, 3",  # noqa: S608
                    (found[0][0],),
                ).fetchall()
                for (table,) in tables.fetchall()
            }


@dataclass(frozen=True, slots=True)
class Worlds:
    """Two stores with the same in them, but that Alice is only in the first."""

    with_alice: World
    without: World
    alice: Things
    own: Things
    known: frozenset[str]

    def answers(self, door: str, call: Call, owner: str) -> list[tuple[str, list[object]]]:
        """Return what a call gives, and is of work, where Alice is and where she never was."""
        return [
            world.answer(door, call, owner, self.known) for world in (self.with_alice, self.without)
        ]

    def arrive(self, owner: str) -> None:
        """Give an owner the same things, with the same ids, in both."""
        for world in (self.with_alice, self.without):
            world.memory.import_(self.own.records, owner=owner)
            world.memory.set_base_memory("Lives by the sea.", owner=owner)


def opened(kind: str, folder: Path, day: int = 2) -> World:
    work = Work(folder)
    schema = own(folder.name) if kind.endswith("postgres") else None
    url: str | Path = ":memory:" if kind == "inmemory" else folder / "memory.db"
    if schema:
        dropped(on_server(), schema)
        Noted.works.append(work)
        url = on_server()
    apsw.connection_hooks.append(work.watch)
    memory = Memolith.open(
        url,
        embedder=work.embed,
        tokens=WordCounter(),
        clock=SettableClock(datetime(2026, 3, day, tzinfo=UTC)),
        cipher=ciphers(folder / "keys") if kind.startswith("encrypted") else PlainCipher(),
        config=load(env={}, overrides={"postgres.schema": schema} if schema else {}),
    )
    for use_case in vars(Services):  # that one was called before is no work of the next call
        getattr(memory._app.services, use_case)
    return World(memory, work, schema)


def ciphers(keys: Path) -> KeyRingCiphers:
    return KeyRingCiphers(KeyRing(keys / "key.ring", KeyFile(keys / "key")))


@pytest.fixture(scope="module", params=KINDS)
def worlds(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worlds]:
    patch = pytest.MonkeyPatch()
    patch.setattr(connections, "Connection", Noted)
    name = request.param.replace(" ", "_")
    first, second = (opened(request.param, tmp_path_factory.mktemp(name)) for _ in range(2))
    # A day before: what comes of it is older than all that is made in the two.
    third = opened("inmemory", tmp_path_factory.mktemp("third"), day=1)
    own = furnish(third.memory.owner("bob"), OWN_WORD)
    with first.memory, second.memory, third.memory:
        alice = furnish(first.memory.owner("alice"), WORD)
        worlds = Worlds(first, second, alice, own, ids_of(alice, own))
        worlds.arrive("who comes first")  # and has the model found out and the file opened
        for world in (first, second):
            with world.work.watched() as done:
                world.memory.recall("something", owner="who comes first")
            assert len(done) > 1 or request.param == "inmemory"
        yield worlds
    apsw.connection_hooks.clear()
    Noted.works.clear()
    patch.undo()


def test_every_method_is_in_the_table_of_doors_or_of_the_operators() -> None:
    methods = {
        name: method
        for name, method in inspect.getmembers(Memolith, callable)
        if not name.startswith("_")
    }
    assert set(DOORS) | set(OPERATORS) == set(methods)
    assert not set(DOORS) & set(OPERATORS)
    for name, method in methods.items():
        names_owner = "owner" in inspect.signature(method).parameters
        assert names_owner == (name in DOORS or name == "create_api_key"), name


WHOLE = {"erase"}
"""What looks through the list of all owners: it is for who runs the store."""


@pytest.mark.parametrize("door", sorted(DOORS))
def test_another_owners_names_are_as_if_nobody_had_them(worlds: Worlds, door: str) -> None:
    bob = f"bob at {door}"
    worlds.arrive(bob)
    before = worlds.with_alice.rows("alice")
    calls = list(DOORS[door](worlds.own, worlds.alice))
    assert calls
    for call in calls:
        (here, done), (there, same) = worlds.answers(door, call, bob)
        assert here == there, call
        assert done == same or door in WHOLE, call
        if door in READING and WORD not in repr(call):
            assert WORD not in here, call
    assert worlds.with_alice.rows("alice") == before


def _wait_and_fail(store: Store, owner: str, ids: Sequence[str]) -> None:
    with store.write(owner) as tx:
        tx.mark_pending(ids)
        tx.schedule_retry(ids[:1], retry_at=None)
        tx.set_progress("s1", waiting.ConsolidationProgress(1, 2))
    for work in waiting.WorkKind:
        claim = store.leases.acquire(owner, work, now=NOW, lease_s=60)
        if claim and work is waiting.WorkKind.CONSOLIDATE:
            store.leases.fail(claim, retry_at=None)
    store.usage.add(owner, "extract", ModelUsage(1, 2, 3), at=NOW)


def _work_of(store: Store, owner: str, ids: Sequence[str]) -> object:
    """Do all that can be done with work that waits; return what it gives, but for random tokens."""
    with store.write(owner) as tx:
        tx.mark_learned(ids[::2], NOW)
        tx.schedule_retry(ids, retry_at=NOW)
        tx.mark_summarised(ids[1::2], NOW)
        tx.add_mark(ids, waiting.ProcessingFlag.INCORPORATED)
        held = [tx.holds_lease(WorkLease(owner, work, b"")) for work in waiting.WorkKind]
    claims = [store.leases.acquire(owner, work, now=NOW, lease_s=1) for work in waiting.WorkKind]
    for claim in filter(None, claims):
        store.leases.renew(claim, now=NOW, lease_s=2)
        store.leases.fail(claim, retry_at=None)
    with store.read(owner) as snapshot:
        found = (
            snapshot.pending_messages(99, now=NOW),
            snapshot.attempts(ids),
            snapshot.unsummarised_messages(99),
            snapshot.unsummarised_messages(99, session_id="s1"),
            snapshot.count_unsummarised_messages(),
            snapshot.count_unsummarised_by_session(),
            snapshot.memories_without_mark(
                waiting.ProcessingFlag.INCORPORATED, frozenset({"fact", "identity"})
            ),
            snapshot.progress("s1"),
            snapshot.pending_work(),
        )
    store.leases.retry(owner)
    store.usage.add(owner, "extract", ModelUsage(1), at=NOW)
    return held, [bool(claim) for claim in claims], found, store.usage.get_usage(owner, NOW)


def test_the_work_that_waits_for_one_owner_is_nobody_elses(worlds: Worlds) -> None:
    here, there = (world.memory._app.store for world in (worlds.with_alice, worlds.without))
    _wait_and_fail(here, "alice", worlds.alice.messages)
    before = worlds.with_alice.rows("alice")
    for bob in ("bob at work", "bob at other work"):
        worlds.arrive(bob)
        if bob == "bob at other work":
            for store in (here, there):
                _wait_and_fail(store, bob, worlds.own.messages)
        ids = [*worlds.own.messages, *worlds.alice.messages, *worlds.alice.memories]
        given = []
        for world in (worlds.with_alice, worlds.without):
            with world.work.watched() as done:
                answer = _work_of(world.memory._app.store, bob, ids)
            given.append((answer, done))
        assert given[0] == given[1]
    assert worlds.with_alice.rows("alice") == before


LOOKALIKES = (
    "%",
    "_____",
    "al*",
    "Alice",
    "alice ",
    "\uff41lice",
    "alice\u200b",
    "alice' OR '1'='1",
    "alice'; DROP TABLE owners; --",
    "alice\0",
    "1",
    "",
)


@pytest.mark.parametrize("door", sorted(set(DOORS) - {"import_"}))
def test_an_owner_with_a_name_like_another_is_another(worlds: Worlds, door: str) -> None:
    before = worlds.with_alice.rows("alice")
    # A few calls of each: what they name is the subject of the test before.
    calls = list(DOORS[door](worlds.own, worlds.alice))[::60]
    for owner, call in product(LOOKALIKES, calls):
        (here, done), (there, same) = worlds.answers(door, call, owner)
        assert here == there, (owner, call)
        assert done == same or door in WHOLE, (owner, call)
    assert worlds.with_alice.rows("alice") == before
    assert "alice" in worlds.with_alice.memory.owners()


def test_who_has_records_of_the_same_ids_does_what_he_wants_with_his_own(worlds: Worlds) -> None:
    worlds.arrive("twin")
    memory, twin = worlds.with_alice.memory, worlds.with_alice.memory.owner("twin")
    before = worlds.with_alice.rows("alice")
    assert twin.import_(worlds.alice.records).memories > 5
    active = {one.id for one in memory.list(owner="alice").memories}
    assert active < {one.id for one in twin.list().memories}
    for id_ in active:
        twin.update(id_, f"Changed {id_}", tags=["mine"], importance=0.2)
        twin.forget(id_)
        twin.restore(id_)
    for id_ in (*worlds.alice.memories, *worlds.alice.messages):
        twin.recall(worlds.alice.texts[0], top_k=100)
        try:
            twin.purge(id_)
        except NotFound:  # it went with another
            continue
    assert worlds.with_alice.rows("alice") == before
    for world in (worlds.with_alice, worlds.without):  # in both, to leave them alike
        world.memory.erase("twin")
    assert worlds.with_alice.rows("alice") == before


SILENT = {"profile", "equivalent_kind", "backlog", "summaries", "usage"}
"""Doors that say nothing of what is stored here."""


@pytest.mark.parametrize("door", sorted(READING))
def test_what_others_hold_changes_no_answer_and_stands_in_none(worlds: Worlds, door: str) -> None:
    bob, carol = f"bob reading {door}", worlds.with_alice.memory.owner(f"carol at {door}")
    worlds.arrive(carol.owner_id)
    for number in range(5):
        carol.remember(f"{worlds.own.texts[0]} {number} {WORD}", key=f"{door} {number}")
    worlds.arrive(bob)
    differs = False
    calls = list(DOORS[door](worlds.own, worlds.own))
    for call in calls[:: 1 + len(calls) // 30]:
        (here, done), (there, same) = worlds.answers(door, call, bob)
        assert here == there, call
        assert done == same, call
        assert WORD not in here, call
        differs = differs or here != worlds.answers(door, call, "who has nothing")[0][0]
    assert differs or door in SILENT


@pytest.mark.parametrize("kind", ["encrypted", "plain"])
def test_a_verify_report_holds_no_content(kind: str, tmp_path: Path) -> None:
    world = opened(kind, tmp_path)
    with world.memory as memory:
        for owner, word in (("alice", WORD), ("bob", OWN_WORD)):
            furnish(memory.owner(owner), word)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as file:
        file.execute("UPDATE memories SET content = x'00', tags = x'00' WHERE owner_id = 2")
        file.execute("DELETE FROM terms WHERE owner_id = 2")
    with opened(kind, tmp_path).memory as memory:
        report = memory.verify()
    assert {finding.owner_id for finding in report.findings} == {"bob"}
    shown = repr(report)
    for secret in (WORD, OWN_WORD, HOSTILE_ORDER, "attic"):
        assert secret not in shown
