"""Search vectors in the database with pgvector, and build its vector indexes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import psycopg
from numpy.typing import NDArray

from memolith.adapters.postgres.connections import PsycopgConnection
from memolith.adapters.postgres.dsn import DatabaseLocation, require_table_owner, session
from memolith.adapters.postgres.opening import count_partitions, read_facts
from memolith.adapters.sql.connection import Connection, Row
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration, VectorFacts
from memolith.adapters.sql.external_vector_search import StoredVectorSource, VectorCandidates
from memolith.errors import Conflict, InvalidInput

Integers = NDArray[np.int64]
Vectors = NDArray[np.int8]

_DISTANCE = "{vector}::halfvec({width}) <=> ?2::halfvec({width})"
_NEAREST = (
    f"SELECT item, {_DISTANCE} AS distance, {{vector}} FROM passages"
    " WHERE owner_id = ?1 AND {vector} IS NOT NULL{named} ORDER BY {order} LIMIT ?3"
)
_AMONG_ITEMS = " AND item IN (SELECT value FROM carray(?4))"

_INDEX_ORDER, _EXACT_ORDER = "distance", f"({_DISTANCE}) + 0"
"""Sort orders: one that an index can provide, and one that forces a full comparison."""


class PgvectorTables(StoredVectorSource):
    """One owner's tables, with vector search by pgvector."""

    distance_tolerance = 2e-3
    """Maximum error of a distance in half precision, which has 11 significant bits."""

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates:
        """See `StoredVectorSource`."""
        encrypted = self.encrypt_query(query)
        values: tuple[object, ...] = (self._owner, self._connection.bind_vector(encrypted), limit)
        if items is not None:
            values = (*values, self._connection.bind_integers(items.tolist()))
        item_filter, width = "" if items is None else _AMONG_ITEMS, self.width(encrypted)
        rows: list[Row] = []
        # With very many owners, an index scan may stop before it has found enough rows of this
        # owner. If rows are missing, compare all of the owner's vectors.
        for order in (_INDEX_ORDER, _EXACT_ORDER):
            order_sql = order.format(vector=self._vector, width=width)
            statement = _NEAREST.format(
                vector=self._vector, width=width, named=item_filter, order=order_sql
            )
            rows = self._connection.rows(statement, values)
            if len(rows) == limit:
                break
        # An IVFFlat index may return rows slightly out of order.
        min_other_distance = max(row[1] for row in rows) if rows and len(rows) == limit else None
        return VectorCandidates(
            [row[0] for row in rows], [row[2] for row in rows], min_other_distance
        )


# --- Vector indexes, built while the store is in use


INDEX_SUFFIXES = {"vector": "nearest", "vector2": "nearest2"}
"""Suffix of the index of a column, after the name of the table or partition."""

HNSW, IVFFLAT = "hnsw", "ivfflat"

_MAX_INDEX_DIMENSION = 4_000
"""Limit of pgvector for indexes in half precision."""

_POLL_S = 0.5
"""Interval between progress queries."""

_PROGRESS = (
    "SELECT phase, tuples_done, tuples_total FROM pg_stat_progress_create_index WHERE pid = %s"
)
_LIST_INDEXES = (
    "SELECT c.relname, am.amname, i.indisvalid, pg_get_indexdef(c.oid), pg_relation_size(c.oid)"
    " FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
    " JOIN pg_am AS am ON am.oid = c.relam WHERE c.relnamespace = to_regnamespace(%s)"
    " AND am.amname IN ('hnsw', 'ivfflat') ORDER BY c.relname"
)


# The application role can read the catalogue, but owns no tables.
_COLUMN_INDEXES = (
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
    " AND indexdef LIKE '%halfvec_cosine_ops%' AND indexname LIKE ?"
)


_HNSW_OPTIONS = "m=32, ef_construction=200"
"""Parameters of an HNSW index. With pgvector's defaults (16 and 64), 10 % of the nearest of 100,000
vectors were missed, with these a negligible part: docs/scaling.md."""


@dataclass(frozen=True, slots=True)
class VectorIndexSpec:
    """The definition of a vector index to build.

    Attributes:
        kind: `hnsw` or `ivfflat`.
        column: The vector column.
        width: The number of components in the column.
        lists: The number of lists of an `ivfflat` index.
    """

    kind: str
    column: str
    width: int
    lists: int = 100

    @property
    def definition(self) -> str:
        """The part of CREATE INDEX after `USING`."""
        parameters = f"lists={self.lists}" if self.kind == IVFFLAT else _HNSW_OPTIONS
        options = f" WITH ({parameters})"
        return f"{self.kind} (({self.column}::halfvec({self.width})) halfvec_cosine_ops){options}"

    def name(self, table: str = "passages") -> str:
        """Return the name of the index on a table or partition."""
        return f"{table}_{INDEX_SUFFIXES[self.column]}"

    def is_satisfied_by(self, index: VectorIndex) -> bool:
        """Return whether an index is complete and matches, on the table or on a partition."""
        half_type = f"halfvec({self.width})"
        options = f"lists='{self.lists}'" if self.kind == IVFFLAT else ""
        definition = index.definition
        is_complete = index.is_valid or " ON ONLY " in definition
        is_same_index = (
            index.name.endswith(f"_{INDEX_SUFFIXES[self.column]}") and index.kind == self.kind
        )
        return is_same_index and is_complete and half_type in definition and options in definition


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An existing vector index, or the index of a partition.

    Attributes:
        name: Its name.
        kind: `hnsw` or `ivfflat`.
        is_valid: Whether it is complete; searches ignore an incomplete index.
        definition: Its definition, from the server.
        size_bytes: Its size on disk.
    """

    name: str
    kind: str
    is_valid: bool
    definition: str
    size_bytes: int


def build_index_statements(spec: VectorIndexSpec, partitions: int) -> list[str]:
    """Return the statements that build an index without blocking writers.

    The server cannot build the index of a partitioned table without a lock. So one index is built
    per partition, and the whole becomes valid when all are attached.
    """
    name, definition = spec.name(), spec.definition
    if not partitions:
        return [f"CREATE INDEX CONCURRENTLY {name} ON passages USING {definition}"]
    statements = [f"CREATE INDEX IF NOT EXISTS {name} ON ONLY passages USING {definition}"]
    for table in (f"passages_{n}" for n in range(partitions)):
        part = spec.name(table)
        statements += [
            f"CREATE INDEX CONCURRENTLY {part} ON {table} USING {definition}",
            f"ALTER INDEX {name} ATTACH PARTITION {part}",
        ]
    return statements


def list_vector_indexes(raw: PsycopgConnection, schema: str) -> list[VectorIndex]:
    """Return the vector indexes of a schema, by name."""
    return [VectorIndex(*row) for row in raw.execute(_LIST_INDEXES, (schema,))]


def get_column_width(dimension: int, *, is_encrypted: bool) -> int:
    """Return the number of components in a column; for encrypted vectors it is even."""
    return dimension + dimension % 2 if is_encrypted else dimension


def plan_indexes(facts: Mapping[str, str], kind: str, lists: int) -> list[VectorIndexSpec]:
    """Return the indexes that a store should have.

    Raises:
        InvalidInput: There is no embedding model yet, or its vectors are too long for an index.
    """
    vectors = VectorFacts.from_facts({**facts})
    if vectors.model is None:
        problem = "has no vectors yet: store a memory first"
        raise InvalidInput("store", problem)
    generation = EmbeddingGeneration(vectors.embedding_generation)
    models = {generation.column: vectors.model}
    if vectors.next_model is not None:
        models[generation.other_column] = vectors.next_model
    specs = [
        VectorIndexSpec(
            kind,
            column,
            get_column_width(model.dimension, is_encrypted=bool(facts["store_id"])),
            lists,
        )
        for column, model in models.items()
    ]
    if (width := max(each.width for each in specs)) > _MAX_INDEX_DIMENSION:
        problem = (
            f"has vectors of {width:,} components; an index supports up to {_MAX_INDEX_DIMENSION:,}"
        )
        raise InvalidInput("store", problem)
    return specs


def require_index_dimension(connection: Connection, column: str, width: int) -> None:
    """Refuse vectors whose length does not match the index of their column.

    Raises:
        Conflict: The index has another vector length.
    """
    names = f"%\\_{INDEX_SUFFIXES[column]}"
    for name, definition in connection.rows(_COLUMN_INDEXES, (names,)):
        if f"halfvec({width})" not in definition:
            raise Conflict(
                f"the index {name} has another vector length:"
                " remove it with `memolith db index --drop`"
            )


def build_indexes(
    location: DatabaseLocation,
    kind: str,
    lists: int,
    on_statement: Callable[[str], None],
    on_progress: Callable[[int], None],
) -> bool:
    """Build missing vector indexes and drop others; return whether anything changed.

    An interrupted call can be repeated: finished partitions are kept.

    Args:
        location: The location of the store.
        kind: `hnsw` or `ivfflat`.
        lists: The number of lists of an `ivfflat` index.
        on_statement: Called with each statement before it runs.
        on_progress: Called with the number of vectors indexed since the last call.

    Raises:
        InvalidInput: There are no vectors yet, or they are too long.
        StoreReadOnly: The role does not own the tables.
        StoreUnavailable: The database cannot be reached.
    """
    with session(location) as raw, require_table_owner(location):
        specs, partitions = (
            plan_indexes(read_facts(raw, location), kind, lists),
            count_partitions(raw),
        )
        raw.execute("SET lock_timeout = 0")  # waits for writers without blocking them
        existing = list_vector_indexes(raw, location.schema)
        obsolete = [
            each for each in existing if not any(one.is_satisfied_by(each) for one in specs)
        ]
        _drop_indexes(raw, obsolete, on_statement)
        validity = {
            index.name: index.is_valid for index in list_vector_indexes(raw, location.schema)
        }
        missing = [one for one in specs if not validity.get(one.name())]
        for statement in (
            each for one in missing for each in build_index_statements(one, partitions)
        ):
            if not any(f" CONCURRENTLY {name} " in statement for name in validity):
                on_statement(statement)
                _run_with_progress(raw, location, statement, on_progress)
        return bool(obsolete or missing)


def drop_indexes(location: DatabaseLocation, on_statement: Callable[[str], None]) -> bool:
    """Drop all vector indexes; return whether there were any.

    Raises:
        StoreReadOnly: The role does not own the tables.
        StoreUnavailable: The database cannot be reached.
    """
    with session(location) as raw, require_table_owner(location):
        existing = list_vector_indexes(raw, location.schema)
        _drop_indexes(raw, existing, on_statement)
        return bool(existing)


def _drop_indexes(
    raw: PsycopgConnection, indexes: Sequence[VectorIndex], on_statement: Callable[[str], None]
) -> None:
    """Drop indexes. A partitioned index comes first and includes those of its partitions."""
    concurrently = "" if count_partitions(raw) else "CONCURRENTLY "
    for index in sorted(indexes, key=lambda each: " ON ONLY " not in each.definition):
        statement = f"DROP INDEX {concurrently}IF EXISTS {index.name}"
        on_statement(statement)
        raw.execute(statement.encode())


def _run_with_progress(
    raw: PsycopgConnection,
    location: DatabaseLocation,
    statement: str,
    on_progress: Callable[[int], None],
) -> None:
    """Run a long statement and report its progress meanwhile."""
    done = threading.Event()
    reporter = threading.Thread(
        target=_report_progress,
        args=(location, raw.info.backend_pid, done, on_progress),
        daemon=True,
    )
    reporter.start()
    try:
        raw.execute(statement.encode())
    finally:
        done.set()
        reporter.join()


def _report_progress(
    location: DatabaseLocation, pid: int, done: threading.Event, on_progress: Callable[[int], None]
) -> None:
    # A failure to report progress must not fail the statement.
    with suppress(psycopg.Error), psycopg.connect(location.conninfo, autocommit=True) as raw:
        reported = 0
        while not done.wait(_POLL_S):
            row = raw.execute(_PROGRESS, (pid,)).fetchone()
            if row and row[1] > reported:
                on_progress(row[1] - reported)
                reported = row[1]
