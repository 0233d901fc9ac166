"""Whether an owner's rows can be read, as those read them who ask for what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memolith.adapters.sql.damage import decoding
from memolith.adapters.sql.rows import MEMORY_COLUMNS, event_of, memory_of, message_of
from memolith.adapters.sql.tables import TABLES
from memolith.adapters.sql.values import instant_or_none
from memolith.domain.messages import Role
from memolith.errors import StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.sealing import Sealing


class _Rows(NamedTuple):
    """Rows of one table.

    Attributes:
        table: The table.
        record: The column with the id of the record that a row is of; NULL: of none.
        columns: What is read of it.
        read: Reads that.
    """

    table: str
    record: str
    columns: str
    read: Callable[[Sealing, Row], object]


def _message(sealing: Sealing, row: Row) -> object:
    return message_of(sealing, row, {})


def _times(_: Sealing, row: Row) -> object:
    return [instant_or_none(each) for each in row[1:]]


def _role(_: Sealing, row: Row) -> object:
    return Role(row[0])


_MESSAGE = "id, version, {}, {}, at, content, NULL, speaker, NULL, 'user'"
_ALL = (
    _Rows("memories", "id", f"{MEMORY_COLUMNS}, NULL", memory_of),
    _Rows("versions", "id", f"{MEMORY_COLUMNS}, NULL", memory_of),
    _Rows("messages", "id", _MESSAGE.format("sequence", "external_id"), _message),
    _Rows("message_versions", "id", _MESSAGE.format("0", "NULL"), _message),
    _Rows("events", "record_id", 'number, record_id, action, at, "by", version, details', event_of),
    _Rows("participants", "NULL", "role", _role),
    _Rows("sessions", "NULL", "name, first_at, last_at, ended_at, consolidated_at", _times),
    _Rows("base_memories", "NULL", "version, valid_from, valid_to", _times),
)


def illegible(
    connection: Connection, sealing: Sealing, owner: int
) -> Iterator[tuple[str, bytes | None]]:
    """Yield the table of each row that can't be read, and the record that it is of, if any."""
    for rows in _ALL:
        for record, row in fetched(connection, rows.table, rows.columns, owner, rows.record):
            if row is None or not _is_legible(rows, sealing, row):
                yield rows.table, record


def _is_legible(rows: _Rows, sealing: Sealing, row: Row) -> bool:
    try:
        decoding(rows.read)(sealing, row)
    except StoreDamaged:
        return False
    return True


def fetched(
    connection: Connection, table: str, columns: str, owner: int, record: str = "NULL"
) -> Iterator[tuple[bytes | None, Row | None]]:
    """Yield the record of each row of an owner, and the row; None where it holds no text.

    A statement that comes upon such a row gives none at all, so each is then asked for alone.
    """
    statement = f"SELECT {record}, {columns} FROM {table} WHERE owner_id = ?"
    try:
        rows = connection.rows(statement, (owner,))
    except StoreDamaged:
        yield from _one_by_one(connection, table, statement, owner, record)
    else:
        yield from ((row[0], row[1:]) for row in rows)


def _one_by_one(
    connection: Connection, table: str, statement: str, owner: int, record: str
) -> Iterator[tuple[bytes | None, Row | None]]:
    key = TABLES[table].key
    one = " AND ".join((statement, *(f"{column} = ?" for column in key)))
    keys = connection.rows(
        f"SELECT {record}, {', '.join(key)} FROM {table} WHERE owner_id = ?", (owner,)
    )
    for of, *values in keys:
        try:
            row = connection.row(one, (owner, *values))
        except StoreDamaged:
            yield of, None
        else:
            yield of, row and row[1:]
