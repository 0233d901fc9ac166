"""On tables partitioned by owner, each statement for one owner touches one partition."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.postgres import connections
from memolith.adapters.postgres.connections import Connection
from memolith.adapters.postgres.dialect import translate
from memolith.adapters.postgres.schema import NewStoreOptions
from memolith.adapters.postgres.store import PostgresStore
from memolith.adapters.sql.integrity_checks import CHECKS
from memolith.adapters.sql.tables import TABLES, page_statement
from memolith.config import load
from memolith.errors import MemolithError
from memolith.testing.builders import DIMENSION
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.all_operations import do_everything
from support.postgres import dropped, emptied, own
from support.tenant_isolation import DOORS, furnish, outcome

SCHEMA, PARTS = own("parted"), 4

_ACROSS = re.compile(
    r"owner_names\(\)|unclaimed_owners\(|learning_owners\(|has_vectors\(\)|bare_owners\(\)|nobodys_rows\(\)"
)
"""The functions that query across owners."""

_EXPLAINED = re.compile(r"WITH|SELECT|UPDATE|DELETE|INSERT INTO [\s\S]* SELECT")

_TURNED = "CREATE TEMP TABLE turned (old bytea PRIMARY KEY, new bytea NOT NULL)"

Statement = tuple[str, tuple[Any, ...]]


class RecordingConnection(Connection):
    """A connection that records its statements."""

    __slots__ = ()
    statements: list[Statement]

    def _execute(self, statement: str, values: Any) -> Any:
        type(self).statements.append((statement, tuple(values)))
        return super()._execute(statement, values)

    def run_many(self, statement: str, rows: Any) -> None:
        given = [tuple(row) for row in rows]
        type(self).statements.extend((statement, row) for row in given[:1])
        super().run_many(statement, given)


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    emptied(postgres_url, SCHEMA)
    opened = PostgresStore.open(
        postgres_url, cipher=PlainCipher(), schema=SCHEMA, options=NewStoreOptions(partitions=PARTS)
    )
    opened.adopt_embedder("builders", DIMENSION)
    yield opened
    opened.close()


@pytest.fixture
def statements(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[Statement]:
    """All statements that a store runs for all its operations, each once."""
    RecordingConnection.statements = []
    monkeypatch.setattr(connections, "Connection", RecordingConnection)
    do_everything(store)
    store.compact()
    store.owners()
    return list({said: (said, values) for said, values in RecordingConnection.statements}.values())


def test_every_statement_touches_one_partition(
    store: PostgresStore, statements: list[Statement]
) -> None:
    with store._connections.read("alice") as connection:
        number = connection.get_owner("alice").number
    statements += [(check.find, (number,)) for check in CHECKS]
    statements += [(check.repair, (number,)) for check in CHECKS if check.repair]
    with store.read_rows("alice") as batches:
        for name, rows in batches:
            table = TABLES.get(name)
            if table is not None:
                key = rows[0][: len(table.key)]
                statements.append((page_statement(table, is_first=False), (number, *key, 9)))
    assert check_partitions(store, statements) > 100


def check_partitions(store: PostgresStore, statements: list[Statement]) -> int:
    """Check that each statement for Alice reads one partition; return the number checked."""
    words = [(translate(statement), values) for statement, values in statements]
    explained = [
        each for each in words if _EXPLAINED.match(each[0]) and not _ACROSS.search(each[0])
    ]
    for statement, values in explained:
        with store._connections.write("alice") as connection:
            options = "ANALYZE, FORMAT JSON"
            if " turned" in statement:  # a temporary table, empty here
                connection.run(_TURNED)
                options = "FORMAT JSON"
            (plan,) = connection.row(f"EXPLAIN ({options}) {statement}", values) or (0,)
        parts = {
            relation[-1]
            for relation in _scanned_tables(_read(plan))
            if re.search(r"_\d$", relation)
        }
        assert len(parts) <= 1, (statement, parts)
    return len(explained)


CALLS = 2
"""Calls of each method: further ones differ in values, not in their statements."""


@pytest.mark.parametrize("in_memory", [0, pytest.param(20_000, marks=pytest.mark.soak)])
def test_every_statement_of_every_method_touches_one_partition(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    schema = own("parted_doors")
    dropped(postgres_url, schema)
    ring = KeyRing(tmp_path / "key.ring", KeyFile(tmp_path / "key"))
    settings = {"schema": schema, "partitions": PARTS, "vectors_in_memory": in_memory}
    overrides = {f"postgres.{name}": value for name, value in settings.items()}
    RecordingConnection.statements = []
    monkeypatch.setattr(connections, "Connection", RecordingConnection)
    with Memolith.open(
        postgres_url,
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        cipher=KeyRingCiphers(ring),
        config=load(env={}, overrides=overrides),
    ) as memory:
        things = furnish(memory.owner("alice"), "wallaby")
        for door in sorted(DOORS, key=lambda name: (name == "readmit", name == "erase")):
            for call in islice(DOORS[door](things, things), CALLS):
                with suppress(MemolithError):
                    outcome(partial(call, memory, door, "alice"))
        things = furnish(memory.owner("alice"), "wallaby")
        memory.verify(repair=True)
        memory.run_jobs()
        memory.work()
        memory.flush()
        statements = {said: (said, values) for said, values in RecordingConnection.statements}
        store = memory._app.store
        assert isinstance(store, PostgresStore)
        assert check_partitions(store, list(statements.values())) > 100
    dropped(postgres_url, schema)


def _read(plan: Any) -> object:
    return json.loads(plan) if isinstance(plan, (str, bytes)) else plan


def _scanned_tables(node: object) -> Iterator[str]:
    """Yield the scanned tables of a query plan."""
    if isinstance(node, dict):
        if "Relation Name" in node and node.get("Actual Loops", 1):
            yield node["Relation Name"]
        node = [*node.values()]
    if isinstance(node, list):
        for each in node:
            yield from _scanned_tables(each)
