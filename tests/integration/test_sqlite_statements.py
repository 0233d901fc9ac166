"""Every statement names the owner and finds its rows by an index."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import numpy as np
import pytest

from mnemon.adapters.crypto.plain import PlainCipher
from mnemon.adapters.sqlite.connections import Connection
from mnemon.adapters.sqlite.store import SqliteStore
from mnemon.domain.memories import Action, Event, Link, Source, State
from mnemon.domain.recall import Scope
from mnemon.domain.work import Mark, Progress, Work
from mnemon.ports.store import Snapshot, Transaction
from mnemon.ports.usage import Spent
from mnemon.testing.builders import (
    DIMENSION,
    at,
    entry,
    memory,
    message,
    passage,
    record_id,
    short_entry,
    vector,
)

_WITHOUT_OWNER = {"meta", "owners", "sqlite_schema", "carray", "json_each", "w", "waiting"}
"""What may be read whole: facts about the store, the list of owners, or that of those who have
something waiting, and ids asked for (w)."""

_BY_OWNER = r"owner_id=|\(name=|\(digest=|rowid=|messages_waiting \(owner_id>"
"""How rows are found; by the last the next owner who has something waiting."""

_OF_ALL = "meta|owners|api_keys|jobs|idempotency|tombstones|pragma_\\w+"
"""Tables whose keys do not begin with an owner's number: see the schema."""


@pytest.fixture
def statements(tmp_path: Path) -> list[str]:
    """All statements of a store that has done everything there is."""
    seen: list[str] = []

    def note(_: object, statement: str, __: object) -> bool:
        seen.append(statement)
        return True

    store = SqliteStore.open(tmp_path / "memory.db", cipher=PlainCipher())
    store.adopt_embedder("builders", DIMENSION)
    with store._connections.writing() as writer:
        writer._raw.exec_trace = note
    with store._connections.reading() as reader:
        reader._raw.exec_trace = note
    with store.write("alice") as tx:
        _write_everything(tx)
    store.touch("alice", {record_id(1): (1, at(9))})
    with store.read("alice") as snapshot:
        _read_everything(snapshot)
    store.profile("alice", "standard")
    lease = store.jobs.take("decay", now=at(0), every_s=1, lease_s=1)
    assert lease is not None
    store.jobs.keep(lease, "half", now=at(0), lease_s=1)
    store.jobs.release(lease)
    store.jobs.finish(lease, now=at(0))
    for work in Work:
        _work(store, work)
    store.usage.add("alice", "extract", Spent(1), at=at(0))
    store.usage.since("alice", at(0))
    store.close()
    return list(dict.fromkeys(seen))


def _work(store: SqliteStore, work: Work) -> None:
    store.claims.owners(work, now=at(0))
    claim = store.claims.take("alice", work, now=at(0), lease_s=1)
    assert claim is not None
    with store.write("alice") as tx:
        tx.holds(claim)
    store.claims.keep(claim, now=at(0), lease_s=1)
    store.claims.fail(claim, retry_at=None)
    store.claims.unpark("alice")
    store.claims.release(claim)


def _write_everything(tx: Transaction) -> None:
    tx.adopt_profile("standard")
    tx.set_profile("facts")
    own = entry(passage({"tea": 1}, (1,), digest=b"d" * 16))
    tx.log("s1", [(message(n, sequence=n, external_id=str(n)), own) for n in (11, 12, 13)])
    source = (Source(record_id(11)),)
    memories = [memory(n, tags=("a",), sources=source, session_id="s1") for n in (1, 2, 3)]
    tx.insert([(replace(one, compressed=True), own) for one in memories])
    tx.link([Link(record_id(1), record_id(2), "summary_of")])
    tx.revise(memory(1, version=2, sources=source, tags=("b",)), own)
    tx.amend(memory(2, key="k", state=State.FADED))
    tx.revise_message(message(11, sequence=11, version=2), own, at(9))
    tx.reindex(record_id(12), short_entry("pot"))
    tx.close_messages([record_id(13)], at(9))
    tx.end_session("s1", at(9))
    tx.next_sequence("s1")
    tx.record([Event(record_id(1), Action.UPDATED, at(1), "user", 2, {"a": "b"})])
    tx.reword(record_id(12), [(message(12, "other", sequence=12), own)])
    tx.set_base_memory("a", sources=source, at=at(1))
    tx.reword_base_memory({1: "b"})
    tx.purge([record_id(3), record_id(13)])
    tx.log("s2", [(message(14, sequence=1), own)])
    tx.remove_sessions(["s2"])
    tx.set_strengths([record_id(1)], [0.1])
    tx.await_learning([record_id(11)])
    tx.postpone([record_id(11)], retry_at=None)
    tx.learned([record_id(11)], at(9))
    tx.summarised([record_id(11)], at(9))
    tx.mark([record_id(1)], Mark.INCORPORATED)
    tx.unmark([record_id(1)], Mark.INCORPORATED)
    tx.set_progress("s1", Progress(1))


def _read_everything(snapshot: Snapshot) -> None:
    ids = [record_id(n) for n in (1, 2, 11, 12)]
    snapshot.memories(ids)
    snapshot.memories(ids, as_of=at(5))
    snapshot.by_key("k")
    snapshot.by_content("", dormant=True)
    states, kinds = frozenset(State), frozenset({"fact"})
    page = snapshot.page(states=states, kinds=kinds, tags=("a",), limit=1, cursor=None)
    snapshot.page(states=states, kinds=None, tags=(), limit=1, cursor=page.cursor)
    snapshot.history(ids[0])
    for as_of in (None, at(5)):
        snapshot.messages(as_of=as_of)
        snapshot.messages(ids=ids, as_of=as_of)
        snapshot.messages(session_id="s1", as_of=as_of)
    snapshot.recent_messages(5)
    snapshot.recent_messages(5, session_id="s1")
    snapshot.originals(ids)
    snapshot.forgotten_messages()
    snapshot.wordings(ids)
    snapshot.adjacent(ids[-1], 1)
    snapshot.external_ids("s1", ["11"])
    snapshot.sessions()
    snapshot.participants()
    snapshot.derived(ids)
    snapshot.vectors([b"d" * 16])
    snapshot.statistics()
    snapshot.base_memory()
    snapshot.base_memory(as_of=at(1))
    snapshot.base_memories()
    snapshot.vitals(states=states)
    snapshot.awaiting(9, now=at(9))
    snapshot.attempts(ids)
    snapshot.unsummarised(9)
    snapshot.unsummarised(9, session_id="s1")
    snapshot.unsummarised_count()
    snapshot.unsummarised_by_session()
    snapshot.unmarked(Mark.INCORPORATED, kinds)
    snapshot.progress("s1")
    snapshot.backlog()
    scope = Scope(now=at(9), session_id="s1", tags=("a",), include_compressed=False)
    numbers = snapshot.nearest(vector(1), 9, Scope(now=at(9)))
    snapshot.nearest(vector(1), 9, scope)
    snapshot.postings(["tea"], scope)
    snapshot.centroid(scope)
    snapshot.containing(["a"], Scope(now=at(9)))
    snapshot.uses(numbers)
    snapshot.numbers(ids, scope)
    snapshot.items(np.array(numbers))


def test_every_statement_names_the_owner(statements: list[str]) -> None:
    about_owners = [
        statement
        for statement in statements
        if re.match("WITH|SELECT|INSERT|UPDATE|DELETE", statement)
        and not re.search(rf"(FROM|INTO|UPDATE) ({_OF_ALL})\b", statement)
    ]
    assert len(about_owners) > 40
    for statement in about_owners:
        all_columns = re.match(r"INSERT INTO \w+ VALUES \(\?", statement)  # the owner's first
        assert all_columns or "owner_id" in statement


def test_every_statement_finds_its_rows_by_an_index(statements: list[str], tmp_path: Path) -> None:
    with closing(Connection(tmp_path / "memory.db", 1)) as connection:
        for statement in statements:
            if not re.match("WITH|SELECT|UPDATE|DELETE|INSERT INTO .* SELECT", statement):
                continue
            plan = _plan(connection._raw, statement)
            scanned = {found[1] for line in plan if (found := re.match(r"SCAN (\w+)", line))}
            assert scanned <= _WITHOUT_OWNER, (statement, plan)
            for line in plan:
                if line.startswith("SEARCH") and not line.startswith("SEARCH w "):
                    assert re.search(_BY_OWNER, line), (statement, plan)


def _plan(connection: apsw.Connection, statement: str) -> list[str]:
    rows: list[str] = []
    cursor = connection.cursor()
    explained = f"EXPLAIN QUERY PLAN {statement}"
    bindings = (None,) * _bindings(connection, statement)
    rows.extend(str(row[3]) for row in cursor.execute(explained, bindings))
    return rows


def _bindings(connection: apsw.Connection, statement: str) -> int:
    return int(apsw.ext.query_info(connection, statement).bindings_count)


MANY = 2_000
"""Messages that wait for nothing."""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store in which Alice and Bob have said much, and little of it waits."""
    store = SqliteStore.open(tmp_path / "busy.db", cipher=PlainCipher())
    for owner in ("alice", "bob"):
        with store.write(owner) as tx:
            said = [(message(n, sequence=n), short_entry("x")) for n in range(1, MANY)]
            tx.log("s1", said)
            tx.summarised([record_id(n) for n in range(1, MANY)], at(9))
    with store.write("bob") as tx:
        tx.await_learning([record_id(n) for n in (5, 6, 7)])
        tx.postpone([record_id(6)], retry_at=None)
        tx.summarised([record_id(n) for n in (8, 9)], None)
    yield store
    store.close()


READING_WORK: dict[str, Callable[[SqliteStore, Snapshot], object]] = {
    "owners who learn": lambda store, _: store.claims.owners(Work.LEARN, now=at(9)),
    "owners": lambda store, _: store.claims.owners(Work.CONSOLIDATE, now=at(9)),
    "awaiting": lambda _, snapshot: snapshot.awaiting(99, now=at(9)),
    "backlog": lambda _, snapshot: snapshot.backlog(),
    "unsummarised": lambda _, snapshot: snapshot.unsummarised(),
    "unsummarised of": lambda _, snapshot: snapshot.unsummarised(9, session_id="s1"),
    "unsummarised count": lambda _, snapshot: snapshot.unsummarised_count(),
    "unsummarised by session": lambda _, snapshot: snapshot.unsummarised_by_session(),
}


@pytest.mark.parametrize("name", READING_WORK)
@pytest.mark.parametrize("owner", ["alice", "bob"])
def test_what_waits_is_found_past_messages_that_wait_for_nothing(
    busy: SqliteStore, owner: str, name: str
) -> None:
    steps: list[int] = []

    def count(event: dict[str, Any]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    with busy.read(owner) as snapshot, busy._connections.reading() as other:
        for connection in (snapshot._connection, other):  # type: ignore[attr-defined] # of SQLite
            connection._raw.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)
    with busy.read(owner) as snapshot:
        assert READING_WORK[name](busy, snapshot) is not None
    assert steps
    assert sum(steps) < MANY
