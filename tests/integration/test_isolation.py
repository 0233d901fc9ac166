"""No API method reads, changes or reveals anything of another owner.

Each call runs in two stores, and only the first contains the other owner. Results and errors must
be identical in both. The rows of the other owner must not change.

The work of a call must not depend on another owner either. Two measures are compared: the executed
statements with the rows that each scans and sorts (in PostgreSQL, returns), and the number of
embedded texts. All keys begin with the owner, so no statement scans another owner's rows. Not
covered: waiting for locks or memory, and the process-wide cache of word stems.
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
class WorkRecorder:
    """Records the statements and embeddings of a store, in order."""

    folder: Path
    done: list[object] = field(default_factory=list)
    is_recording: bool = False
    hashing: HashingEmbedder = field(default_factory=lambda: HashingEmbedder(64))

    def attach(self, connection: apsw.Connection) -> None:
        if Path(connection.filename).is_relative_to(self.folder):
            connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._record_statement)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        if self.is_recording:
            self.done.append(("embedded", len(texts)))
        return self.hashing.embed(texts, role="document")

    @contextmanager
    def recording(self) -> Iterator[list[object]]:
        self.done, self.is_recording = [], True
        try:
            yield self.done
        finally:
            self.is_recording = False

    def record(self, statement: str, rows: int) -> None:
        """Record a statement and its number of rows, if the call under test runs it."""
        if self.is_recording and current_thread() is main_thread():
            self.done.append((statement, rows))

    def _record_statement(self, event: dict[str, object]) -> None:
        status = event["stmt_status"]
        is_of_the_call = self.is_recording and current_thread() is main_thread()
        if is_of_the_call and isinstance(status, dict):
            self.done.append((event["sql"], *(status[name] for name in ROWS)))


class RecordingConnection(Connection):
    """A PostgreSQL connection that records its statements."""

    __slots__ = ()
    works: ClassVar[list[WorkRecorder]] = []

    def _execute(self, statement: str, values: Sequence[Any]) -> Any:
        cursor = super()._execute(statement, values)
        for work in self.works:
            work.record(statement, cursor.rowcount)
        return cursor

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        given = list(rows)
        for work in self.works:
            work.record(statement, len(given))
        super().run_many(statement, given)


@dataclass(frozen=True, slots=True)
class World:
    """A store in a folder, or a schema, of its own."""

    memory: Memolith
    work: WorkRecorder
    schema: str | None = None

    def answer(
        self, api_method: str, call: Call, owner: str, known: frozenset[str]
    ) -> tuple[str, list[object]]:
        """Return the result of a call, and its work."""
        with self.work.recording() as done:
            given = outcome(lambda: call(self.memory, api_method, owner), known)
        self.memory.flush()  # pending writes would run at different times in the two worlds
        return given, done

    def rows(self, owner: str) -> object:
        """Return all rows of an owner, as stored."""
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
    """Two stores with equal content, except that only the first contains Alice."""

    with_alice: World
    without: World
    alice: Things
    own: Things
    known: frozenset[str]

    def answers(self, api_method: str, call: Call, owner: str) -> list[tuple[str, list[object]]]:
        """Return the results and the work of a call, with Alice and without her."""
        return [
            world.answer(api_method, call, owner, self.known)
            for world in (self.with_alice, self.without)
        ]

    def import_own_data(self, owner: str) -> None:
        """Give an owner the same records, with the same ids, in both stores."""
        for world in (self.with_alice, self.without):
            world.memory.import_(self.own.records, owner=owner)
            world.memory.set_base_memory("Lives by the sea.", owner=owner)


def open_world(kind: str, folder: Path, day: int = 2) -> World:
    work = WorkRecorder(folder)
    schema = own(folder.name) if kind.endswith("postgres") else None
    url: str | Path = ":memory:" if kind == "inmemory" else folder / "memory.db"
    if schema:
        dropped(on_server(), schema)
        RecordingConnection.works.append(work)
        url = on_server()
    apsw.connection_hooks.append(work.attach)
    memory = Memolith.open(
        url,
        embedder=work.embed,
        tokens=WordCounter(),
        clock=SettableClock(datetime(2026, 3, day, tzinfo=UTC)),
        cipher=ciphers(folder / "keys") if kind.startswith("encrypted") else PlainCipher(),
        config=load(env={}, overrides={"postgres.schema": schema} if schema else {}),
    )
    for use_case in vars(Services):  # creating a use case must not count as work of a call
        getattr(memory._app.services, use_case)
    return World(memory, work, schema)


def ciphers(keys: Path) -> KeyRingCiphers:
    return KeyRingCiphers(KeyRing(keys / "key.ring", KeyFile(keys / "key")))


@pytest.fixture(scope="module", params=KINDS)
def worlds(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worlds]:
    patch = pytest.MonkeyPatch()
    patch.setattr(connections, "Connection", RecordingConnection)
    name = request.param.replace(" ", "_")
    first, second = (open_world(request.param, tmp_path_factory.mktemp(name)) for _ in range(2))
    # A day earlier: its records are older than all records of the two stores.
    third = open_world("inmemory", tmp_path_factory.mktemp("third"), day=1)
    own = furnish(third.memory.owner("bob"), OWN_WORD)
    with first.memory, second.memory, third.memory:
        alice = furnish(first.memory.owner("alice"), WORD)
        worlds = Worlds(first, second, alice, own, ids_of(alice, own))
        # The first owner creates the file and determines the embedding model.
        worlds.import_own_data("who comes first")
        for world in (first, second):
            with world.work.recording() as done:
                world.memory.recall("something", owner="who comes first")
            assert len(done) > 1 or request.param == "inmemory"
        yield worlds
    apsw.connection_hooks.clear()
    RecordingConnection.works.clear()
    patch.undo()


def test_every_method_is_listed_as_owner_or_operator_method() -> None:
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


SCANNING_METHODS = {"erase"}
"""Methods that scan the list of all owners."""


@pytest.mark.parametrize("api_method", sorted(DOORS))
def test_names_of_another_owner_behave_like_unknown_names(worlds: Worlds, api_method: str) -> None:
    bob = f"bob at {api_method}"
    worlds.import_own_data(bob)
    before = worlds.with_alice.rows("alice")
    calls = list(DOORS[api_method](worlds.own, worlds.alice))
    assert calls
    for call in calls:
        (here, done), (there, same) = worlds.answers(api_method, call, bob)
        assert here == there, call
        assert done == same or api_method in SCANNING_METHODS, call
        if api_method in READING and WORD not in repr(call):
            assert WORD not in here, call
    assert worlds.with_alice.rows("alice") == before


def _add_pending_work(store: Store, owner: str, ids: Sequence[str]) -> None:
    with store.write(owner) as tx:
        tx.mark_pending(ids)
        tx.schedule_retry(ids[:1], retry_at=None)
        tx.set_progress("s1", waiting.ConsolidationProgress(1, 2))
    for work in waiting.WorkKind:
        claim = store.leases.acquire(owner, work, now=NOW, lease_s=60)
        if claim and work is waiting.WorkKind.CONSOLIDATE:
            store.leases.fail(claim, retry_at=None)
    store.usage.add(owner, "extract", ModelUsage(1, 2, 3), at=NOW)


def _run_pending_work(store: Store, owner: str, ids: Sequence[str]) -> object:
    """Do everything possible with pending work; return the results without random tokens."""
    with store.write(owner) as tx:
        tx.mark_learned(ids[::2], NOW)
        tx.schedule_retry(ids, retry_at=NOW)
        tx.mark_summarised(ids[1::2], NOW)
        tx.add_mark(ids, waiting.ProcessingFlag.INCORPORATED)
        leases_held = [tx.holds_lease(WorkLease(owner, work, b"")) for work in waiting.WorkKind]
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
    return leases_held, [bool(claim) for claim in claims], found, store.usage.get_usage(owner, NOW)


def test_pending_work_of_one_owner_does_not_affect_others(worlds: Worlds) -> None:
    here, there = (world.memory._app.store for world in (worlds.with_alice, worlds.without))
    _add_pending_work(here, "alice", worlds.alice.messages)
    before = worlds.with_alice.rows("alice")
    for bob in ("bob at work", "bob at other work"):
        worlds.import_own_data(bob)
        if bob == "bob at other work":
            for store in (here, there):
                _add_pending_work(store, bob, worlds.own.messages)
        ids = [*worlds.own.messages, *worlds.alice.messages, *worlds.alice.memories]
        given = []
        for world in (worlds.with_alice, worlds.without):
            with world.work.recording() as done:
                answer = _run_pending_work(world.memory._app.store, bob, ids)
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


@pytest.mark.parametrize("api_method", sorted(set(DOORS) - {"import_"}))
def test_similar_owner_names_are_different_owners(worlds: Worlds, api_method: str) -> None:
    before = worlds.with_alice.rows("alice")
    # A few calls of each: the test above covers all arguments.
    calls = list(DOORS[api_method](worlds.own, worlds.alice))[::60]
    for owner, call in product(LOOKALIKES, calls):
        (here, done), (there, same) = worlds.answers(api_method, call, owner)
        assert here == there, (owner, call)
        assert done == same or api_method in SCANNING_METHODS, (owner, call)
    assert worlds.with_alice.rows("alice") == before
    assert "alice" in worlds.with_alice.memory.owners()


def test_owner_with_same_record_ids_changes_only_own_records(worlds: Worlds) -> None:
    worlds.import_own_data("twin")
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


METHODS_WITHOUT_RECORDS = {"profile", "equivalent_kind", "backlog", "summaries", "usage"}
"""API methods that return nothing of the records stored here."""


@pytest.mark.parametrize("api_method", sorted(READING))
def test_records_of_others_do_not_affect_any_answer(worlds: Worlds, api_method: str) -> None:
    bob, carol = (
        f"bob reading {api_method}",
        worlds.with_alice.memory.owner(f"carol at {api_method}"),
    )
    worlds.import_own_data(carol.owner_id)
    for number in range(5):
        carol.remember(f"{worlds.own.texts[0]} {number} {WORD}", key=f"{api_method} {number}")
    worlds.import_own_data(bob)
    differs = False
    calls = list(DOORS[api_method](worlds.own, worlds.own))
    for call in calls[:: 1 + len(calls) // 30]:
        (here, done), (there, same) = worlds.answers(api_method, call, bob)
        assert here == there, call
        assert done == same, call
        assert WORD not in here, call
        differs = differs or here != worlds.answers(api_method, call, "who has nothing")[0][0]
    assert differs or api_method in METHODS_WITHOUT_RECORDS


@pytest.mark.parametrize("kind", ["encrypted", "plain"])
def test_verify_report_contains_no_content(kind: str, tmp_path: Path) -> None:
    world = open_world(kind, tmp_path)
    with world.memory as memory:
        for owner, word in (("alice", WORD), ("bob", OWN_WORD)):
            furnish(memory.owner(owner), word)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as file:
        file.execute("UPDATE memories SET content = x'00', tags = x'00' WHERE owner_id = 2")
        file.execute("DELETE FROM terms WHERE owner_id = 2")
    with open_world(kind, tmp_path).memory as memory:
        report = memory.verify()
    assert {finding.owner_id for finding in report.findings} == {"bob"}
    shown = repr(report)
    for secret in (WORD, OWN_WORD, HOSTILE_ORDER, "attic"):
        assert secret not in shown
