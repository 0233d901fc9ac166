"""Where a key ring's tables stand: what it needs of a file, or of a database."""

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
    "bring the key back (`memolith key restore FILE` takes a backup of it),"
    " or start afresh with `memolith reset`"
)
"""What to do where a ring does not open."""


class KeyRingTransaction(Protocol):
    """A transaction on a ring's tables, in statements that SQLite and PostgreSQL understand.

    The tables are `ring` (name, value), `stores` (store, wrapped) and `owners` (store, owner,
    version, wrapped; null once the owner was erased). Values have their places as `?`.
    """

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return all it gives."""
        ...

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return the first row it gives."""
        ...

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row."""
        ...


class KeyRingStorage(Protocol):
    """Where a ring is; its `str` is how messages call it. Safe between threads and processes.

    What each of the methods raises besides: StoreUnavailable where it can't be reached or stays
    locked, StoreReadOnly where nothing may be written, KeyUnavailable where it is no ring.
    """

    def exists(self) -> bool:
        """Tell whether there is a ring."""
        ...

    def create(self) -> None:
        """Make an empty ring, which only its owner may read, where there is none."""
        ...

    def read(self) -> AbstractContextManager[KeyRingTransaction]:
        """Lend a transaction that sees one state, of a ring that is there."""
        ...

    def write(self) -> AbstractContextManager[KeyRingTransaction]:
        """Lend a transaction in which nobody else writes, of a ring that is there.

        At the end of the block it is on the disk, all of it; or, after an error, none of it.
        """
        ...

    def compact(self) -> None:
        """See to it that what was removed is not to be found there any more."""
        ...

    def close(self) -> None:
        """Let go of what is held open; the next use opens it again."""
        ...


# --- A key ring in a file: a small SQLite database, for the owner's eyes only


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
        with master_key.translate_os_errors(self._path):
            master_key.create_empty_file(self._path)
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
