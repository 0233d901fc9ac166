"""On tables that are parted by owner, what is done for one touches one part."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from everything import do_everything
from mnemon.adapters.crypto.plain import PlainCipher
from mnemon.adapters.postgres import connections
from mnemon.adapters.postgres.connections import Connection
from mnemon.adapters.postgres.schema import Making
from mnemon.adapters.postgres.store import PostgresStore
from mnemon.adapters.postgres.words import in_words
from mnemon.adapters.sql.checks import CHECKS
from mnemon.adapters.sql.copying import page
from mnemon.adapters.sql.tables import TABLES
from mnemon.testing.builders import DIMENSION
from postgres import emptied, own

SCHEMA, PARTS = own("parted"), 4

_ACROSS = re.compile(
    r"owner_names\(\)|unclaimed_owners\(|learning_owners\(|has_vectors\(\)|bare_owners\(\)|nobodys_rows\(\)"
)
"""What is asked across owners, by name: of functions."""

_EXPLAINED = re.compile(r"WITH|SELECT|UPDATE|DELETE|INSERT INTO [\s\S]* SELECT")

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
        postgres_url, cipher=PlainCipher(), schema=SCHEMA, making=Making(partitions=PARTS)
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
    store.settle()
    store.owners()
    return list({said: (said, values) for said, values in Noting.asked}.values())


def test_every_statement_touches_one_part(store: PostgresStore, asked: list[Asked]) -> None:
    with store._connections.reading("alice") as connection:
        number = connection.owner("alice").number
    asked += [(check.find, (number,)) for check in CHECKS]
    asked += [(check.mend, (number,)) for check in CHECKS if check.mend]
    with store.rows_of("alice") as batches:
        for name, rows in batches:
            table = TABLES.get(name)
            if table is not None:
                key = rows[0][: len(table.key)]
                asked.append((page(table, is_first=False), (number, *key, 9)))
    words = [(in_words(statement), values) for statement, values in asked]
    explained = [each for each in words if _EXPLAINED.match(each[0])]
    assert len(explained) > 100
    for statement, values in explained:
        if _ACROSS.search(statement):
            continue
        with store._connections.writing("alice") as connection:
            (plan,) = connection.row(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values) or (0,)
        parts = {relation[-1] for relation in _touched(_read(plan)) if re.search(r"_\d$", relation)}
        assert len(parts) <= 1, (statement, parts)


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
