"""Whether an owner's rows can be read, as those read them who ask for what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memolith.adapters.sql.damage import translate_decode_errors
from memolith.adapters.sql.rows import MEMORY_COLUMNS, decode_event, decode_memory, decode_message
from memolith.adapters.sql.tables import TABLES
from memolith.adapters.sql.values import instant_or_none
from memolith.domain.messages import Role
from memolith.errors import StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.sealing import OwnerEncryption


class _RowReader(NamedTuple):
    """Rows of one table.

    Attributes:
        table: The table.
        record: The column with the id of the record that a row is of; NULL: of none.
        columns: What is read of it.
        read: Reads that.
    """

    table: str
    record_column: str
    columns: str
    decode: Callable[[OwnerEncryption, Row], object]


def _decode_message(encryption: OwnerEncryption, row: Row) -> object:
    return decode_message(encryption, row, {})


def _decode_times(_: OwnerEncryption, row: Row) -> object:
    return [instant_or_none(each) for each in row[1:]]


def _decode_role(_: OwnerEncryption, row: Row) -> object:
    return Role(row[0])


_MESSAGE_COLUMNS = "id, version, {}, {}, at, content, NULL, speaker, NULL, 'user'"
_ROW_READERS = (
    _RowReader("memories", "id", f"{MEMORY_COLUMNS}, NULL", decode_memory),
    _RowReader("versions", "id", f"{MEMORY_COLUMNS}, NULL", decode_memory),
    _RowReader(
        "messages", "id", _MESSAGE_COLUMNS.format("sequence", "external_id"), _decode_message
    ),
    _RowReader("message_versions", "id", _MESSAGE_COLUMNS.format("0", "NULL"), _decode_message),
    _RowReader(
        "events", "record_id", 'number, record_id, action, at, "by", version, details', decode_event
    ),
    _RowReader("participants", "NULL", "role", _decode_role),
    _RowReader(
        "sessions", "NULL", "name, first_at, last_at, ended_at, consolidated_at", _decode_times
    ),
    _RowReader("base_memories", "NULL", "version, valid_from, valid_to", _decode_times),
)


def find_unreadable_rows(
    connection: Connection, encryption: OwnerEncryption, owner: int
) -> Iterator[tuple[str, bytes | None]]:
    """Yield the table of each row that can't be read, and the record that it is of, if any."""
    for rows in _ROW_READERS:
        for record, row in fetch_rows(
            connection, rows.table, rows.columns, owner, rows.record_column
        ):
            if row is None or not _is_readable(rows, encryption, row):
                yield rows.table, record


def _is_readable(rows: _RowReader, encryption: OwnerEncryption, row: Row) -> bool:
    try:
        translate_decode_errors(rows.decode)(encryption, row)
    except StoreDamaged:
        return False
    return True


def fetch_rows(
    connection: Connection, table: str, columns: str, owner: int, record: str = "NULL"
) -> Iterator[tuple[bytes | None, Row | None]]:
    """Yield the record of each row of an owner, and the row; None where it holds no text.

    A statement that comes upon such a row gives none at all, so each is then asked for alone.
    """
    statement = f"SELECT {record}, {columns} FROM {table} WHERE owner_id = ?"
    try:
        rows = connection.rows(statement, (owner,))
    except StoreDamaged:
        yield from _fetch_one_by_one(connection, table, statement, owner, record)
    else:
        yield from ((row[0], row[1:]) for row in rows)


def _fetch_one_by_one(
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
