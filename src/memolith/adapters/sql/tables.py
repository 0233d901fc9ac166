"""Tables, columns and row order, the same in all databases; exporting and importing rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Any

import msgspec

from memolith.adapters.sql.connection import Connection, Row
from memolith.adapters.sql.embedding_generations import VECTOR_COLUMNS
from memolith.ports.admin import Batches, TableChecksum

OWNERS = "owners"


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: Its name.
        columns: All columns except the owner's number, quoted if necessary.
        key: The key columns, without the owner's number.
        is_owned: Whether its rows belong to owners.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    is_owned: bool = True

    @property
    def vectors(self) -> tuple[int, ...]:
        """Indexes of the columns that contain vectors."""
        return tuple(n for n, name in enumerate(self.columns) if name in VECTOR_COLUMNS)

    @property
    def reals(self) -> tuple[int, ...]:
        """Indexes of the columns that contain floating-point numbers."""
        return tuple(n for n, name in enumerate(self.columns) if name in _REAL_COLUMNS)


_REAL_COLUMNS = ("importance", "strength")

OWNER_FACTS = (
    "profile",
    "key_version",
    "counter",
    "revision",
    "generation",
    "next_item",
    "next_session",
    "next_speaker",
    "next_event",
    "reembedded_to",
)
"""The columns of an owner's own row, without number and name."""

_MEMORY_COLUMNS = (
    "kind state origin key {digest}content summary tags importance strength access_count"
    " accessed_at created_at updated_at happened_at expires_at superseded_by session sources"
    " compressed kept_kind valid_from valid_to"
)


def _build_tables() -> Iterator[Table]:
    for name, key, columns in (
        (
            "sessions",
            "number",
            (
                "name first_item first_at last_at last_sequence messages ended_at consolidated_to"
                " failures active_at consolidated_at"
            ),
        ),
        ("participants", "number", "name role digest"),
        (
            "messages",
            "id",
            (
                "number version item session sequence speaker external_id external_digest at"
                " content valid_from valid_to marks learned_at summarised_at retry_at attempts"
            ),
        ),
        ("message_versions", "id version", "item speaker at content valid_from valid_to"),
        (
            "memories",
            "id",
            f"version item {_MEMORY_COLUMNS.format(digest='key_digest ')} changed marks",
        ),
        ("versions", "id version", f"item {_MEMORY_COLUMNS.format(digest='')}"),
        (
            "items",
            "item",
            (
                "record_id kind session sequence speaker role at traits words tokens content"
                " valid_from valid_to expires_at compressed changed"
            ),
        ),
        ("passages", "item part", "start stop tokens length digest vector vector2"),
        ("terms", "term item part", "tf"),
        ("tags", "tag item", ""),
        ("derived", "source_id memory_id", ""),
        ("links", "relation source_id target_id", ""),
        ("events", "number", 'record_id action at "by" version details'),
        ("base_memories", "version", "content sources valid_from valid_to"),
        ("claims", "work", "token until attempts"),
        ("usage", "hour purpose", "calls input_tokens output_tokens"),
    ):
        yield _build_table(name, key, columns)
    for name, key, columns in (
        ("idempotency", "scope key_digest", "request_digest response created_at"),
        ("jobs", "name", "state lease_token lease_until ran_at"),
        ("api_keys", "digest", "name owner role created_at revoked_at"),
        ("tombstones", "digest", "erased_at"),
    ):
        yield _build_table(name, key, columns, is_owned=False)


def _build_table(name: str, key: str, columns: str, *, is_owned: bool = True) -> Table:
    return Table(name, (*key.split(), *columns.split()), tuple(key.split()), is_owned)


TABLES = {table.name: table for table in _build_tables()}
"""All tables by name, except `owners` and database-specific tables."""

OWNED_TABLES = tuple(table.name for table in TABLES.values() if table.is_owned)
"""The tables whose rows belong to owners."""


# --- Export and import of rows


_ROWS_PER_PAGE = 1_000
"""Rows held in memory at once; the largest have a few kilobytes. A guess."""

_DIGEST_BYTES = 16

_SELECT_OWNER = f"SELECT {', '.join(OWNER_FACTS)} FROM owners WHERE owner_id = ?"
_UPDATE_OWNER = (
    f"UPDATE owners SET {', '.join(f'{name} = ?' for name in OWNER_FACTS)} WHERE owner_id = ?"
)


def read_rows(connection: Connection, number: int | None) -> Iterator[tuple[str, list[Row]]]:
    """Yield all rows of an owner, beginning with `owners`; None: rows without an owner.

    Args:
        connection: Within a transaction that sees one consistent state.
        number: The owner's number in this database.
    """
    if number is not None:
        yield OWNERS, connection.rows(_SELECT_OWNER, (number,))
    for table in TABLES.values():
        if table.is_owned == (number is not None):
            for rows in _read_pages(connection, table, () if number is None else (number,)):
                yield table.name, rows


def _read_pages(
    connection: Connection, table: Table, owner_key: tuple[int, ...]
) -> Iterator[list[Row]]:
    """Yield a table's rows in the order of their keys, which are the first columns."""
    rows = connection.rows(page_statement(table, is_first=True), (*owner_key, _ROWS_PER_PAGE))
    while rows:
        yield rows
        if len(rows) < _ROWS_PER_PAGE:
            return
        last = rows[-1][: len(table.key)]
        rows = connection.rows(
            page_statement(table, is_first=False), (*owner_key, *last, _ROWS_PER_PAGE)
        )


@cache
def page_statement(table: Table, *, is_first: bool) -> str:
    """Return the statement that selects the first rows of a table, or those after a key."""
    key = ", ".join(table.key)
    conditions = ["owner_id = ?"] if table.is_owned else []
    if not is_first:
        conditions.append(f"({key}) > ({', '.join('?' for _ in table.key)})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(table.columns)} FROM {table.name}{where} ORDER BY {key} LIMIT ?"


def replace_owner_rows(connection: Connection, owner_id: str, batches: Batches) -> None:
    """Replace the rows of an owner.

    Args:
        connection: Within a write transaction of that owner.
        owner_id: The owner.
        batches: As from `read_rows`; empty batches create no owner.
    """
    number = connection.get_owner(owner_id, lock=True).number
    if number:
        for table in OWNED_TABLES:
            connection.run(f"DELETE FROM {table} WHERE owner_id = ?", (number,))
    for name, rows in batches:
        number = number or connection.insert_owner(owner_id, 0).number
        if name == OWNERS:
            connection.run_many(_UPDATE_OWNER, [(*row, number) for row in rows])
        else:
            _insert_rows(connection, TABLES[name], (number,), rows)


def replace_shared_rows(connection: Connection, batches: Batches) -> None:
    """Replace the rows that belong to no owner."""
    for table in TABLES.values():
        if not table.is_owned:
            connection.run(f"DELETE FROM {table.name}")
    for name, rows in batches:
        _insert_rows(connection, TABLES[name], (), rows)


def _insert_rows(
    connection: Connection, table: Table, owner_key: tuple[int, ...], rows: Sequence[Row]
) -> None:
    connection.run_many(
        _insert_statement(table),
        [(*owner_key, *row) for row in _bind_vectors(connection, table, rows)],
    )


@cache
def _insert_statement(table: Table) -> str:
    columns = ("owner_id", *table.columns) if table.is_owned else table.columns
    placeholders = ", ".join("?" for _ in columns)
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({placeholders})"


def _bind_vectors(connection: Connection, table: Table, rows: Sequence[Row]) -> Iterable[Row]:
    indices = table.vectors
    if not indices:
        return rows
    return (
        tuple(
            connection.bind_vector(value) if n in indices else value for n, value in enumerate(row)
        )
        for row in rows
    )


def compute_checksums(batches: Batches) -> dict[str, TableChecksum]:
    """Return checksums of rows by table; equal rows have equal checksums in any database."""
    encode = msgspec.msgpack.Encoder().encode
    digests: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for name, rows in batches:
        digest = digests.setdefault(name, blake2b(digest_size=_DIGEST_BYTES))
        for row in _canonical_rows(name, rows):
            digest.update(encode(row))
        counts[name] = counts.get(name, 0) + len(rows)
    return {name: TableChecksum(counts[name], digests[name].hexdigest()) for name in counts}


def _canonical_rows(name: str, rows: Sequence[Row]) -> Iterable[Row]:
    """Return rows with −0.0 replaced by 0.0, since SQLite does not preserve the sign."""
    reals = TABLES[name].reals if name in TABLES else ()
    if not reals:
        return rows
    return (
        tuple(value + 0.0 if n in reals else value for n, value in enumerate(row)) for row in rows
    )
