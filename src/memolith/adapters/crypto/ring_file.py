"""A key ring in a file: a small SQLite database, for the owner's eyes only."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import apsw

from memolith.adapters.crypto import files
from memolith.adapters.crypto.ring_places import RECOVERY_HINT
from memolith.errors import KeyUnavailable, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from memolith.adapters.crypto.ring_places import Row

_BUSY_TIMEOUT_S = 10.0
"""No transaction on a ring takes longer than a few syncs of a disk: a guess."""

_PRAGMAS = (
    "PRAGMA journal_mode = DELETE",
    "PRAGMA synchronous = EXTRA",  # the journal's removal, which commits, is synced too
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
    """See `RingRows`."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Take a connection within a transaction."""
        self._connection = connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """See the protocol."""
        return self._connection.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """See the protocol."""
        return self._connection.execute(statement, values).fetchone()

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """See the protocol."""
        self._connection.execute(statement, values)
        return self._connection.changes()

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """See the protocol."""
        self._connection.executemany(statement, rows)


class FileKeyStorage:
    """See `RingPlace`. Nothing is held open."""

    def __init__(self, path: Path) -> None:
        """Take the file's path; it need not be there."""
        self._path = path

    def __str__(self) -> str:
        """Return the path."""
        return str(self._path)

    def exists(self) -> bool:
        """See the protocol."""
        return self._path.exists()

    def create(self) -> None:
        """See the protocol."""
        with files.translate_os_errors(self._path):
            files.create_empty_file(self._path)
        with self.write() as rows:
            rows.run(_TABLES)

    @contextmanager
    def read(self) -> Iterator[FileKeyRingTransaction]:
        """See the protocol."""
        with self._transaction("BEGIN") as rows:
            yield rows

    @contextmanager
    def write(self) -> Iterator[FileKeyRingTransaction]:
        """See the protocol."""
        with self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    def compact(self) -> None:
        """Do nothing: what is removed is overwritten when it is."""

    def close(self) -> None:
        """Do nothing."""

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[FileKeyRingTransaction]:
        files.warn_if_readable_by_others(self._path)
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
            with suppress(apsw.Error):  # closing rolls back what is open
                ring.close()

    def _translate_error(self, error: apsw.Error) -> Exception:
        if isinstance(error, (apsw.BusyError, apsw.LockedError)):
            return StoreUnavailable(f"the key ring is locked: {self._path}", _BUSY_TIMEOUT_S)
        if isinstance(error, apsw.ReadOnlyError):
            return StoreReadOnly(str(self._path), "the system does not let it be written")
        if isinstance(error, apsw.FullError):
            return StoreUnavailable(f"the disk is full: {self._path}")
        return KeyUnavailable(
            f"the key ring cannot be read: {self._path} ({type(error).__name__}); {RECOVERY_HINT}"
        )
