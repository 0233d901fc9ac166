"""On tables that are parted by owner, what is done for one touches one part."""

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
"""What is asked across owners, by name: of functions."""

_EXPLAINED = re.compile(r"WITH|SELECT|UPDATE|DELETE|INSERT INTO [\s\S]* SELECT")

_TURNED = "CREATE TEMP TABLE turned (old bytea PRIMARY KEY, new bytea NOT NULL)"

Asked = tuple[str, tuple[Any, ...]]


class Noting(Connection):
    """A connection that keeps what it is asked."""

    __slots__ = ()
    asked: list[Asked]

    def _execute(self, statement: str, values: Any) -> Any:
        type(self).asked.append((statement, tuple(values)))
        return super()._execute(statement, values)

    def run_many(self, statement: str, rows: Any) -> None:
        given = [tuple(row) for row in rows]
        type(self).asked.extend((statement, row) for row in given[:1])
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
def asked(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """All statements of a store that has done everything there is, each once."""
    Noting.asked = []
    monkeypatch.setattr(connections, "Connection", Noting)
    do_everything(store)
    store.compact()
    store.owners()
    return list({said: (said, values) for said, values in Noting.asked}.values())


def test_every_statement_touches_one_part(store: PostgresStore, asked: list[Asked]) -> None:
    with store._connections.read("alice") as connection:
        number = connection.get_owner("alice").number
    asked += [(check.find, (number,)) for check in CHECKS]
    asked += [(check.repair, (number,)) for check in CHECKS if check.repair]
    with store.read_rows("alice") as batches:
        for name, rows in batches:
            table = TABLES.get(name)
            if table is not None:
                key = rows[0][: len(table.key)]
                asked.append((page_statement(table, is_first=False), (number, *key, 9)))
    assert check_one_part(store, asked) > 100


def check_one_part(store: PostgresStore, asked: list[Asked]) -> int:
    """Check that what was asked for Alice looks into one part; return how many that were."""
    words = [(translate(statement), values) for statement, values in asked]
    explained = [
        each for each in words if _EXPLAINED.match(each[0]) and not _ACROSS.search(each[0])
    ]
    for statement, values in explained:
        with store._connections.write("alice") as connection:
            options = "ANALYZE, FORMAT JSON"
            if " turned" in statement:  # a table of the transaction's own, and empty here
                connection.run(_TURNED)
                options = "FORMAT JSON"
            (plan,) = connection.row(f"EXPLAIN ({options}) {statement}", values) or (0,)
        parts = {relation[-1] for relation in _touched(_read(plan)) if re.search(r"_\d$", relation)}
        assert len(parts) <= 1, (statement, parts)
    return len(explained)


CALLS = 2
"""How many calls of a door are made: they differ by names, not by what is asked of the store."""


@pytest.mark.parametrize("in_memory", [0, pytest.param(20_000, marks=pytest.mark.soak)])
def test_every_statement_of_every_door_touches_one_part(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    schema = own("parted_doors")
    dropped(postgres_url, schema)
    ring = KeyRing(tmp_path / "key.ring", KeyFile(tmp_path / "key"))
    settings = {"schema": schema, "partitions": PARTS, "vectors_in_memory": in_memory}
    overrides = {f"postgres.{name}": value for name, value in settings.items()}
    Noting.asked = []
    monkeypatch.setattr(connections, "Connection", Noting)
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
        asked = {said: (said, values) for said, values in Noting.asked}
        store = memory._app.store
        assert isinstance(store, PostgresStore)
        assert check_one_part(store, list(asked.values())) > 100
    dropped(postgres_url, schema)


def _read(plan: Any) -> object:
    return json.loads(plan) if isinstance(plan, (str, bytes)) else plan


def _touched(node: object) -> Iterator[str]:
    """Yield the tables that were looked into."""
    if isinstance(node, dict):
        if "Relation Name" in node and node.get("Actual Loops", 1):
            yield node["Relation Name"]
        node = [*node.values()]
    if isinstance(node, list):
        for each in node:
            yield from _touched(each)
