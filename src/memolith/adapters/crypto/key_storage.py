"""Store the tables of a key ring, in a file or in a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import apsw

from memolith.adapters.crypto import master_key
from memolith.errors import KeyUnavailable, StoreReadOnly, StoreUnavailable

Row = tuple[Any, ...]

RECOVERY_HINT = (
    "restore the key (`memolith key restore FILE` restores a backup of it),"
    " or start over with `memolith reset`"
)
"""Hint for the user when a ring cannot be decrypted."""


class KeyRingTransaction(Protocol):
    """A transaction on a ring's tables, in SQL that SQLite and PostgreSQL both accept.

    The tables are `ring` (name, value), `stores` (store, wrapped) and `owners` (store, owner,
    version, wrapped). `wrapped` is null after the owner was erased. Placeholders are `?`.
    """

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return all rows."""
        ...

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return the first row."""
        ...

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return the number of changed rows."""
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        ...


class KeyRingStorage(Protocol):
    """The storage of a ring. Safe between threads and processes.

    `str()` of it appears in messages. All methods raise StoreUnavailable if the storage cannot be
    reached or stays locked, StoreReadOnly if it cannot be written, and KeyUnavailable if it
    does not contain a key ring.
    """

    def exists(self) -> bool:
        """Return whether the ring exists."""
        ...

    def create(self) -> None:
        """Create an empty ring that only its owner can read, if there is none."""
        ...

    def read(self) -> AbstractContextManager[KeyRingTransaction]:
        """Open a transaction that sees one consistent state of an existing ring."""
        ...

    def write(self) -> AbstractContextManager[KeyRingTransaction]:
        """Open a transaction with the write lock of an existing ring.

        It is committed durably at the end of the block, or rolled back after an error.
        """
        ...

    def compact(self) -> None:
        """Remove deleted values from the underlying storage."""
        ...

    def close(self) -> None:
        """Close open connections. The next use opens them again."""
        ...


# --- Key ring in a SQLite file


_BUSY_TIMEOUT_S = 10.0
"""A transaction on a ring takes no longer than a few disk syncs. A guess."""

_PRAGMAS = (
    "PRAGMA journal_mode = DELETE",
    "PRAGMA synchronous = EXTRA",  # also sync the deletion of the journal, which commits
    "PRAGMA secure_delete = ON",
)
_TABLES = """
CREATE TABLE IF NOT EXISTS ring (
  name TEXT NOT NULL PRIMARY KEY, value ANY NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stores (
  store BLOB NOT NULL PRIMARY KEY, wrapped BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owners (
  store BLOB NOT NULL, owner BLOB NOT NULL, version INTEGER NOT NULL, wrapped BLOB,
  PRIMARY KEY (store, owner, version)
) STRICT, WITHOUT ROWID;
"""


class FileKeyRingTransaction:
    """A transaction on a ring in a SQLite file."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Use a connection with an open transaction."""
        self._connection = connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """See `KeyRingTransaction`."""
        return self._connection.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """See `KeyRingTransaction`."""
        return self._connection.execute(statement, values).fetchone()

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """See `KeyRingTransaction`."""
        self._connection.execute(statement, values)
        return self._connection.changes()

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """See `KeyRingTransaction`."""
        self._connection.executemany(statement, rows)


class FileKeyStorage:
    """A key ring in a SQLite file. The file is opened for each transaction."""

    def __init__(self, path: Path) -> None:
        """Use a file, which need not exist yet."""
        self._path = path

    def __str__(self) -> str:
        """Return the path."""
        return str(self._path)

    def exists(self) -> bool:
        """See `KeyRingStorage`."""
        return self._path.exists()

    def create(self) -> None:
        """See `KeyRingStorage`."""
        with master_key.translate_os_errors(self._path):
            master_key.create_empty_file(self._path)
        with self.write() as rows:
            rows.run(_TABLES)

    @contextmanager
    def read(self) -> Iterator[FileKeyRingTransaction]:
        """See `KeyRingStorage`."""
        with self._transaction("BEGIN") as rows:
            yield rows

    @contextmanager
    def write(self) -> Iterator[FileKeyRingTransaction]:
        """See `KeyRingStorage`."""
        with self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    def compact(self) -> None:
        """Do nothing: `secure_delete` overwrites deleted values."""

    def close(self) -> None:
        """Do nothing: no connection stays open."""

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[FileKeyRingTransaction]:
        master_key.warn_if_readable_by_others(self._path)
        try:
            ring = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        except apsw.Error as error:
            raise self._translate_error(error) from error
        try:
            ring.set_busy_timeout(round(_BUSY_TIMEOUT_S * 1000))
            for pragma in _PRAGMAS:
                ring.execute(pragma)
            ring.execute(begin)
            yield FileKeyRingTransaction(ring)
            ring.execute("COMMIT")
        except apsw.Error as error:
            raise self._translate_error(error) from error
        finally:
            with suppress(apsw.Error):  # closing rolls back an open transaction
                ring.close()

    def _translate_error(self, error: apsw.Error) -> Exception:
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            return StoreUnavailable(f"the key ring is locked: {self._path}", _BUSY_TIMEOUT_S)
        if isinstance(error, apsw.ReadOnlyError):
            return StoreReadOnly(str(self._path), "the operating system denies write access")
        if isinstance(error, apsw.FullError):
            return StoreUnavailable(f"the disk is full: {self._path}")
        return KeyUnavailable(
            f"the key ring cannot be read: {self._path} ({type(error).__name__}); {RECOVERY_HINT}"
        )
