"""Every SQL statement filters by owner and finds its rows by an index."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import apsw.ext
import pytest

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sql.tables import TABLES, page_statement
from memolith.adapters.sqlite.connections import Connection
from memolith.adapters.sqlite.store import SqliteStore
from memolith.domain.owners import WorkKind
from memolith.ports.store import Snapshot
from memolith.testing.builders import DIMENSION, at, message, record_id, short_entry
from support.all_operations import do_everything

pytestmark = pytest.mark.sqlite

_WITHOUT_OWNER = {
    *("meta", "owners", "api_keys", "jobs", "sqlite_schema"),
    *("carray", "json_each", "w", "waiting"),
}
"""Tables that may be scanned: metadata, owners, pending messages (`waiting`), API keys, jobs
(when an owner is erased), and lists of requested ids (`w`)."""

_BY_OWNER = r"owner_id=|\(scope=|\(name=|\(digest=|rowid=|messages_waiting \(owner_id>"
"""Index conditions that are allowed; the last one finds the next owner with pending messages."""

_OF_ALL = "meta|owners|api_keys|jobs|idempotency|tombstones|pragma_\\w+"
"""Tables whose primary keys do not begin with an owner's number."""


@pytest.fixture
def statements(tmp_path: Path) -> list[str]:
    """All statements that a store runs for all its operations."""
    seen: list[str] = []

    def note(_: object, statement: str, __: object) -> bool:
        seen.append(statement)
        return True

    store = SqliteStore.open(tmp_path / "memory.db", cipher=PlainCipher())
    store.adopt_embedder("builders", DIMENSION)
    with store._connections.write() as writer:
        writer._raw.exec_trace = note
    with store._connections.read() as reader:
        reader._raw.exec_trace = note
    do_everything(store)
    store.close()
    seen += [page_statement(table, is_first=False) for table in TABLES.values() if table.is_owned]
    return list(dict.fromkeys(seen))


def test_every_statement_filters_by_owner(statements: list[str]) -> None:
    about_owners = [
        statement
        for statement in statements
        if re.match("WITH|SELECT|INSERT|UPDATE|DELETE", statement)
        and not re.search(rf"(FROM|INTO|UPDATE) ({_OF_ALL})\b", statement)
    ]
    assert len(about_owners) > 40
    for statement in about_owners:
        # The number of the owner comes first.
        all_columns = re.match(r"INSERT INTO \w+ VALUES \(\?", statement)
        assert all_columns or "owner_id" in statement


def test_every_statement_uses_an_index(statements: list[str], tmp_path: Path) -> None:
    read_whole = {
        page_statement(table, is_first=True) for table in TABLES.values() if not table.is_owned
    }
    with closing(Connection(tmp_path / "memory.db", 1)) as connection:
        for statement in set(statements) - read_whole:
            if not re.match("WITH|SELECT|UPDATE|DELETE|INSERT INTO .* SELECT", statement):
                continue
            plan = _plan(connection._raw, statement)
            scanned = {found[1] for line in plan if (found := re.match(r"SCAN (\w+)", line))}
            assert scanned <= _WITHOUT_OWNER, (statement, plan)
            for line in plan:
                if line.startswith("SEARCH") and not line.startswith("SEARCH w "):
                    assert re.search(_BY_OWNER, line), (statement, plan)


def test_paging_statements_need_no_sorting(statements: list[str], tmp_path: Path) -> None:
    assert statements
    with closing(Connection(tmp_path / "memory.db", 1)) as connection:
        for table in TABLES.values():
            for is_first in (True, False):
                assert not any(
                    "TEMP B-TREE" in line
                    for line in _plan(connection._raw, page_statement(table, is_first=is_first))
                ), table.name


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
"""The number of messages that are not pending."""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store in which Alice and Bob have many messages, few of them pending."""
    store = SqliteStore.open(tmp_path / "busy.db", cipher=PlainCipher())
    for owner in ("alice", "bob"):
        with store.write(owner) as tx:
            said = [(message(n, sequence=n), short_entry("x")) for n in range(1, MANY)]
            tx.log("s1", said)
            tx.mark_summarised([record_id(n) for n in range(1, MANY)], at(9))
    with store.write("bob") as tx:
        tx.mark_pending([record_id(n) for n in (5, 6, 7)])
        tx.schedule_retry([record_id(6)], retry_at=None)
        tx.mark_summarised([record_id(n) for n in (8, 9)], None)
    yield store
    store.close()


READING_WORK: dict[str, Callable[[SqliteStore, Snapshot], object]] = {
    "owners who learn": lambda store, _: store.leases.owners(WorkKind.LEARN, now=at(9)),
    "owners": lambda store, _: store.leases.owners(WorkKind.CONSOLIDATE, now=at(9)),
    "awaiting": lambda _, snapshot: snapshot.pending_messages(99, now=at(9)),
    "backlog": lambda _, snapshot: snapshot.pending_work(),
    "unsummarised": lambda _, snapshot: snapshot.unsummarised_messages(),
    "unsummarised of": lambda _, snapshot: snapshot.unsummarised_messages(9, session_id="s1"),
    "unsummarised count": lambda _, snapshot: snapshot.count_unsummarised_messages(),
    "unsummarised by session": lambda _, snapshot: snapshot.count_unsummarised_by_session(),
}


@pytest.mark.parametrize("name", READING_WORK)
@pytest.mark.parametrize("owner", ["alice", "bob"])
def test_pending_work_is_found_without_scanning_other_messages(
    busy: SqliteStore, owner: str, name: str
) -> None:
    steps: list[int] = []

    def count(event: dict[str, Any]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    with busy.read(owner) as snapshot, busy._connections.read() as other:
        for connection in (snapshot._connection, other):  # type: ignore[attr-defined] # of SQLite
            connection._raw.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)
    with busy.read(owner) as snapshot:
        assert READING_WORK[name](busy, snapshot) is not None
    assert steps
    assert sum(steps) < MANY
