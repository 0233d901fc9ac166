"""Connections to a SQLite file: pooled readers, one writer, and translated errors."""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import apsw

from memolith.adapters.sql.connection import (
    OWNER_COLUMNS,
    ConstraintViolation,
    FairSemaphore,
    OwnerRow,
    Row,
)
from memolith.errors import MemolithError, StoreDamaged, StoreReadOnly, StoreUnavailable

_CACHE_KB = 16_000
"""Page cache of a writing connection: an import changes many pages in one transaction."""
_READER_CACHE_KB = 2_000
"""SQLite's default. A commit empties the caches of the other connections anyway, and the operating
system caches the file. With 16 MB each, eight readers made up most of a server's memory growth."""

_IDLE_READERS = 8
"""Maximum number of open idle readers: more threads rarely read at once. A guess."""

_LOCK_POLL_S = 0.002
"""Interval between attempts to get the write lock. SQLite's own pauses grow to 0.1 s. With these,
processes with eight writers each, which release the lock for less than a millisecond at a time,
blocked other processes for over ten seconds."""

_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA temp_store = MEMORY",
)

_PAGES_PER_STEP = 4_096
"""Pages copied between two progress reports: 16 MB. A guess."""

_SELECT_OWNER_ROW = f"SELECT {OWNER_COLUMNS} FROM owners WHERE name = ?"

_DAMAGE_ERRORS = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, UnicodeDecodeError)
_UNAVAILABLE_ERRORS = (
    (apsw.FullError, "the disk is full"),
    (apsw.CantOpenError, "the store cannot be opened"),
    (apsw.PermissionsError, "access to the store is denied"),
    (apsw.IOError, "the store cannot be read or written"),
)

_MIN_FREE_BYTES = 1 << 16
"""SQLite creates the index of a write-ahead log in pieces of 32 KB."""

_LOCKLESS_VFS = "unix-none"
"""SQLite's VFS for file access without locks on Unix."""

_inherited_connections: list[apsw.Connection] = []
"""Connections inherited by a forked child. Closing them would drop the parent's locks."""


def translate_error(
    error: apsw.Error | UnicodeDecodeError, path: Path, waited_s: float = 0.0
) -> MemolithError:
    """Return the Memolith error for an error of SQLite."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreUnavailable(f"{path} is locked by another writer", waited_s)
    if isinstance(error, _DAMAGE_ERRORS):
        return StoreDamaged(
            f"{path} is damaged, or not a Memolith store: {error}; run `memolith verify`"
        )
    if isinstance(error, apsw.ReadOnlyError):
        return StoreReadOnly(str(path), "the operating system denies write access")
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)) and is_disk_full(path):
        return StoreUnavailable(f"the disk is full: {path}")
    for kind, problem in _UNAVAILABLE_ERRORS:
        if isinstance(error, kind):
            return StoreUnavailable(f"{problem}: {path}")
    return StoreUnavailable(f"{path}: {type(error).__name__}: {error}")


def is_disk_full(path: Path) -> bool:
    """Return whether the disk is too full for the files that SQLite creates beside a store.

    SQLite itself only reports that such a file cannot be opened or read.
    """
    import shutil

    try:
        return shutil.disk_usage(path.parent).free < _MIN_FREE_BYTES
    except OSError:
        return False


def _require_lockless_vfs(path: Path) -> str:
    if _LOCKLESS_VFS not in apsw.vfs_names():
        raise StoreReadOnly(
            str(path), "its write-ahead log contains changes that cannot be read on this system"
        )
    return _LOCKLESS_VFS


class Connection:
    """A connection, for use by one thread at a time."""

    __slots__ = ("_busy_ms", "_raw", "_with", "path", "with_log")

    def __init__(
        self,
        path: Path,
        busy_timeout_s: float,
        *,
        read_only: bool = False,
        exclusive: bool = False,
        with_log: bool = False,
        cache_kb: int = _CACHE_KB,
    ) -> None:
        """Open a file, and create it if it does not exist.

        Args:
            path: The file.
            busy_timeout_s: Timeout for locks.
            read_only: Neither create nor write the file.
            exclusive: No other process has it open: take no locks and create no files beside it.
                Only for reading.
            with_log: Whether a write-ahead log exists. Only with `exclusive`.
            cache_kb: Size of the page cache.

        Raises:
            StoreUnavailable: The file cannot be opened.
            StoreDamaged: The file is not a database.
        """
        self.path = path
        self.with_log = with_log
        self._busy_ms = round(busy_timeout_s * 1000)
        self._with: set[str] = set()
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        if read_only:
            flags = apsw.SQLITE_OPEN_READONLY
        name = str(path)
        if exclusive and not with_log:
            name, flags = f"{path.absolute().as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
        try:
            self._raw = apsw.Connection(
                name,
                flags=flags,
                vfs=_require_lockless_vfs(path) if with_log else None,
                statementcachesize=200,
            )
            # A stable query plan: otherwise SQLite prepares a join again on each run, which
            # takes ten times as long as running it.
            self._raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            if with_log:
                # Before the first read, so that the log's index is kept in memory.
                self._raw.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._raw.set_busy_timeout(self._busy_ms)
            for pragma in (*_PRAGMAS, f"PRAGMA cache_size = -{cache_kb}"):
                self._raw.execute(pragma)
        except apsw.Error as error:
            raise translate_error(error, path) from error

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return all rows."""
        try:
            return self._raw.execute(statement, values).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translate_error(error, self.path) from error

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return the first row."""
        try:
            return self._raw.execute(statement, values).fetchone()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translate_error(error, self.path) from error

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return the number of changed rows.

        Raises:
            ConstraintViolation: The statement violates a constraint.
        """
        try:
            self._raw.execute(statement, values)
        except apsw.ConstraintError as error:
            raise ConstraintViolation from error
        except apsw.Error as error:
            raise translate_error(error, self.path) from error
        return self._raw.changes()

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row; errors as in `run`."""
        try:
            self._raw.executemany(statement, rows)
        except apsw.ConstraintError as error:
            raise ConstraintViolation from error
        except apsw.Error as error:
            raise translate_error(error, self.path) from error

    def bind_values(self, values: Sequence[bytes] | Sequence[str]) -> Any:
        """See `sql.connection.Connection`."""
        return apsw.carray(tuple(values))

    def bind_integers(self, values: Sequence[int]) -> Any:
        """See `sql.connection.Connection`."""
        return apsw.carray(array("q", values))

    def bind_vector(self, stored: Any) -> Any:
        """See `sql.connection.Connection`."""
        return stored

    def load_extension(self, library: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Load an extension library and register functions of one argument, once.

        Raises:
            StoreUnavailable: The library cannot be loaded.
        """
        if library in self._with:
            return
        try:
            self._raw.enable_load_extension(True)
            self._raw.load_extension(library)
            self._raw.enable_load_extension(False)
            for name, function in functions.items():
                self._raw.create_scalar_function(name, function, 1, deterministic=True)
        except apsw.Error as error:
            raise StoreUnavailable(f"{library} cannot be loaded into SQLite") from error
        self._with.add(library)

    def get_owner(self, owner_id: str, *, lock: bool = False) -> OwnerRow:
        """See `sql.connection.Connection`. No row is locked: a writer has locked the whole file."""
        del lock
        row = self.row(_SELECT_OWNER_ROW, (owner_id,))
        return OwnerRow(*row) if row else OwnerRow()

    def insert_owner(self, owner_id: str, key_version: int) -> OwnerRow:
        """See `sql.connection.Connection`."""
        self.run("INSERT INTO owners (name, key_version) VALUES (?, ?)", (owner_id, key_version))
        return self.get_owner(owner_id)

    def begin_reading(self) -> None:
        """Begin a transaction whose snapshot is taken by the first read."""
        self.run("BEGIN")

    def begin_writing(self, timeout_s: float) -> None:
        """Begin a transaction with the write lock, waiting for it if necessary.

        Raises:
            StoreUnavailable: Another process holds the lock for longer than the timeout.
        """
        started = monotonic()

        def wait(_times: int) -> bool:
            sleep(_LOCK_POLL_S)
            return monotonic() - started < timeout_s

        try:
            self._raw.set_busy_handler(wait)
            self._raw.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            raise translate_error(error, self.path, monotonic() - started) from error
        finally:
            self._raw.set_busy_timeout(self._busy_ms)

    def roll_back(self) -> None:
        """Roll back the open transaction, if there is one."""
        if self._raw.in_transaction:
            # After a full disk or a failed read, SQLite may already have rolled back. The error
            # that led here is more informative than a second one.
            with suppress(apsw.Error):
                self._raw.execute("ROLLBACK")

    def back_up(self, target: Path, advance: Callable[[int], None] | None = None) -> None:
        """Copy the file, as this connection sees it, to another file.

        Outside a transaction, copies the last committed state.

        Args:
            target: The other file.
            advance: Called with the number of pages copied since the last call.
        """
        copy = apsw.Connection(str(target))
        try:
            with copy.backup("main", self._raw, "main") as backup:
                while not backup.done:
                    before = backup.remaining
                    backup.step(_PAGES_PER_STEP)
                    if advance is not None:
                        advance(max(0, (before or backup.page_count) - backup.remaining))
        except apsw.Error as error:
            raise translate_error(error, target) from error
        finally:
            copy.close()

    def close(self) -> None:
        """Close the connection."""
        try:
            self._raw.close()
        except apsw.Error as error:
            raise translate_error(error, self.path) from error

    def abandon(self) -> None:
        """Drop the connection without closing it; see `_inherited_connections`."""
        _inherited_connections.append(self._raw)


class Connections:
    """A pool of readers, and one writer that threads take turns to use.

    After a fork, the child opens new connections on next use and leaves its parent's alone. Forking
    while a transaction is open is not supported.
    """

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        """Create the pool; connections are opened on first use."""
        self.path = path
        self.busy_timeout_s = busy_timeout_s
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._closed = False
        self._lock = threading.Lock()
        self._writer_semaphore = FairSemaphore(1)
        self._idle: list[Connection] = []
        self._writer: Connection | None = None

    @contextmanager
    def read(self, owner_id: str | None = None) -> Iterator[Connection]:
        """Open a read transaction. The owner is ignored: all rows are in one file."""
        del owner_id
        connection = self._borrow()
        try:
            connection.begin_reading()
            yield connection
        finally:
            connection.roll_back()
            self._release(connection)

    @contextmanager
    def write(self, owner_id: str | None = None) -> Iterator[Connection]:
        """Open a transaction with the file's write lock. The owner is ignored.

        Uncommitted changes are rolled back at the end of the block.
        """
        del owner_id
        started = monotonic()
        with self.idle_writer() as connection:
            connection.begin_writing(self.busy_timeout_s - (monotonic() - started))
            try:
                yield connection
            finally:
                connection.roll_back()

    @contextmanager
    def idle_writer(self) -> Iterator[Connection]:
        """Return the writer without a transaction, for statements not allowed in one."""
        self._check_process()
        started = monotonic()
        if not self._writer_semaphore.acquire(self.busy_timeout_s):
            raise StoreUnavailable(
                f"{self.path} is locked by another writer", monotonic() - started
            )
        try:
            yield self._open_writer()
        finally:
            self._writer_semaphore.release()

    def close(self) -> None:
        """Close all connections: idle ones now, and others when they are released.

        Raises:
            StoreUnavailable: A write does not end within the timeout.
        """
        self._check_process()
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        if not self._writer_semaphore.acquire(self.busy_timeout_s):
            raise StoreUnavailable(f"{self.path} is still being written to", self.busy_timeout_s)
        try:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
        finally:
            self._writer_semaphore.release()

    def _open_writer(self) -> Connection:
        self._refuse_if_closed()
        if self._writer is None:
            self._writer = Connection(self.path, self.busy_timeout_s)
        return self._writer

    def _borrow(self) -> Connection:
        self._check_process()
        with self._lock:
            self._refuse_if_closed()
            if self._idle:
                return self._idle.pop()
        return self._open_reader()

    def _open_reader(self) -> Connection:
        return Connection(self.path, self.busy_timeout_s, cache_kb=_READER_CACHE_KB)

    def _release(self, connection: Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"the store is closed: {self.path}")

    def _check_process(self) -> None:
        if self._process == os.getpid():
            return
        inherited = [*self._idle, *([self._writer] if self._writer else [])]
        for connection in inherited:
            connection.abandon()
        closed = self._closed
        self._reset()
        self._closed = closed
