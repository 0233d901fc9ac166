"""Giving the rows of an owner, or of nobody, to another database, and telling them from others.

The tables are the same in both, and what is sealed is bound to the owner's name, the record, the
field and the version, not to where it stands: so rows are copied as they are, without a key. What
differs is the number of the owner, which each database gives for itself, and how a vector stands
in its column.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from memolith.adapters.sql.tables import OWNED, OWNER_FACTS, OWNERS, TABLES
from memolith.ports.moving import Sum

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.tables import Table
    from memolith.ports.moving import Batches

_ROWS_AT_ONCE = 1_000
"""Rows held in memory at a time, of which the largest have some kilobytes: a guess."""

_DIGEST_BYTES = 16

_THIS_OWNER = f"SELECT {', '.join(OWNER_FACTS)} FROM owners WHERE owner_id = ?"
_SET_OWNER = (
    f"UPDATE owners SET {', '.join(f'{name} = ?' for name in OWNER_FACTS)} WHERE owner_id = ?"
)


def given(connection: Connection, number: int | None) -> Iterator[tuple[str, list[Row]]]:
    """Give all rows of an owner, that of `owners` first; None: those of no owner.

    Args:
        connection: Within a transaction that sees one state.
        number: The owner's, in this database.
    """
    if number is not None:
        yield OWNERS, connection.rows(_THIS_OWNER, (number,))
    for table in TABLES.values():
        if table.is_owned == (number is not None):
            for rows in _pages(connection, table, () if number is None else (number,)):
                yield table.name, rows


def _pages(connection: Connection, table: Table, whose: tuple[int, ...]) -> Iterator[list[Row]]:
    """Give a table's rows in the order of their keys, which come first among the columns."""
    rows = connection.rows(page(table, is_first=True), (*whose, _ROWS_AT_ONCE))
    while rows:
        yield rows
        if len(rows) < _ROWS_AT_ONCE:
            return
        last = rows[-1][: len(table.key)]
        rows = connection.rows(page(table, is_first=False), (*whose, *last, _ROWS_AT_ONCE))


@cache
def page(table: Table, *, is_first: bool) -> str:
    """Return the statement that gives some rows of a table, after those up to a key."""
    key = ", ".join(table.key)
    conditions = ["owner_id = ?"] if table.is_owned else []
    if not is_first:
        conditions.append(f"({key}) > ({', '.join('?' for _ in table.key)})")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(table.columns)} FROM {table.name}{where} ORDER BY {key} LIMIT ?"


def keep_owned(connection: Connection, owner_id: str, batches: Batches) -> None:
    """Put rows in the place of those that an owner has.

    Args:
        connection: Within a transaction of that owner that may write.
        owner_id: Whose they are.
        batches: As `given` gives them; nobody is made an owner by none.
    """
    number = connection.owner(owner_id, lock=True).number
    if number:
        for table in OWNED:
            connection.run(f"DELETE FROM {table} WHERE owner_id = ?", (number,))
    for name, rows in batches:
        number = number or connection.new_owner(owner_id, 0).number
        if name == OWNERS:
            connection.run_many(_SET_OWNER, [(*row, number) for row in rows])
        else:
            _insert(connection, TABLES[name], (number,), rows)


def keep_common(connection: Connection, batches: Batches) -> None:
    """Put rows in the place of those that are of no owner."""
    for table in TABLES.values():
        if not table.is_owned:
            connection.run(f"DELETE FROM {table.name}")
    for name, rows in batches:
        _insert(connection, TABLES[name], (), rows)


def _insert(
    connection: Connection, table: Table, whose: tuple[int, ...], rows: Sequence[Row]
) -> None:
    connection.run_many(
        _new_row(table), [(*whose, *row) for row in _with_vectors(connection, table, rows)]
    )


@cache
def _new_row(table: Table) -> str:
    columns = ("owner_id", *table.columns) if table.is_owned else table.columns
    places = ", ".join("?" for _ in columns)
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({places})"


def _with_vectors(connection: Connection, table: Table, rows: Sequence[Row]) -> Iterable[Row]:
    at = table.vectors
    if not at:
        return rows
    return (
        tuple(connection.vector(value) if n in at else value for n, value in enumerate(row))
        for row in rows
    )


def summed(batches: Batches) -> dict[str, Sum]:
    """Return what tells rows from others, by table; the same rows give the same in any database."""
    encode = msgspec.msgpack.Encoder().encode
    digests: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for name, rows in batches:
        digest = digests.setdefault(name, blake2b(digest_size=_DIGEST_BYTES))
        for row in _canonical(name, rows):
            digest.update(encode(row))
        counts[name] = counts.get(name, 0) + len(rows)
    return {name: Sum(counts[name], digests[name].hexdigest()) for name in counts}


def _canonical(name: str, rows: Sequence[Row]) -> Iterable[Row]:
    """Return rows without the minus that a zero may have, which SQLite does not keep."""
    reals = TABLES[name].reals if name in TABLES else ()
    if not reals:
        return rows
    return (
        tuple(value + 0.0 if n in reals else value for n, value in enumerate(row)) for row in rows
    )
