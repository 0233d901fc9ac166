"""Connections to one file: readers that threads borrow, one writer, and errors translated."""

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
"""Of a connection that writes: an import changes many pages in one transaction."""
_READER_CACHE_KB = 2_000
"""SQLite's default. What one connection writes empties the caches of the others, the system keeps
pages of the file too, and eight readers of 16 MB were most of what a server grew by."""

_IDLE_READERS = 8
"""How many unused readers are kept open: more threads than that rarely read at once (a guess)."""

_LOCK_POLL_S = 0.002
"""Between looks whether another process still writes. SQLite's own pauses grow to a tenth of a
second: processes of eight writers each, which leave the file alone for less than a millisecond at
a time, kept others out of it for over ten seconds."""

_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA temp_store = MEMORY",
)

_PAGES_PER_STEP = 4_096
"""How many pages, 16 MB, are copied between two signs of progress (a guess)."""

_SELECT_OWNER_ROW = f"SELECT {OWNER_COLUMNS} FROM owners WHERE name = ?"

_DAMAGE_ERRORS = (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, UnicodeDecodeError)
_UNAVAILABLE_ERRORS = (
    (apsw.FullError, "the disk is full"),
    (apsw.CantOpenError, "the store cannot be opened"),
    (apsw.PermissionsError, "access to the store is denied"),
    (apsw.IOError, "the store cannot be read or written"),
)

_MIN_FREE_BYTES = 1 << 16
"""The index of a log is made in pieces of 32 KB."""

_LOCKLESS_VFS = "unix-none"
"""SQLite's way to files without locks, on Unix."""

_inherited_connections: list[apsw.Connection] = []
"""What a forked child got from its parent: to close it there would take the parent's locks."""


def translate_error(
    error: apsw.Error | UnicodeDecodeError, path: Path, waited_s: float = 0.0
) -> MemolithError:
    """Return what an error of SQLite means to a caller."""
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreUnavailable(f"{path} is locked by another writer", waited_s)
    if isinstance(error, _DAMAGE_ERRORS):
        return StoreDamaged(
            f"{path} is damaged, or not a store of Memolith: {error}; run `memolith verify`"
        )
    if isinstance(error, apsw.ReadOnlyError):
        return StoreReadOnly(str(path), "the system does not let it be written")
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)) and is_disk_full(path):
        return StoreUnavailable(f"the disk is full: {path}")
    for kind, problem in _UNAVAILABLE_ERRORS:
        if isinstance(error, kind):
            return StoreUnavailable(f"{problem}: {path}")
    return StoreUnavailable(f"{path}: {type(error).__name__}: {error}")


def is_disk_full(path: Path) -> bool:
    """Whether the disk has no room for the files that SQLite makes beside a store to open it.

    It says of those only that they can't be opened or read.
    """
    import shutil

    try:
        return shutil.disk_usage(path.parent).free < _MIN_FREE_BYTES
    except OSError:
        return False


def _require_lockless_vfs(path: Path) -> str:
    if _LOCKLESS_VFS not in apsw.vfs_names():
        raise StoreReadOnly(
            str(path), "its last writes are in the log beside it, which can be read only there"
        )
    return _LOCKLESS_VFS


class Connection:
    """One connection. A thread at a time."""

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
        """Open the file, making it where there is none.

        Args:
            path: The file.
            busy_timeout_s: For how long to wait for locks.
            read_only: Neither make nor write it.
            alone: Nobody else has it open: take no locks, and make no files beside it. Only to
                read.
            with_log: Where alone: there is a write-ahead log beside it.
            cache_kb: How much of the file it keeps in memory.

        Raises:
            StoreUnavailable: It can't be opened.
            StoreDamaged: It is no database.
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
            # One plan whatever is bound: else a join is prepared anew each time it runs, which
            # takes ten times as long as running it.
            self._raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            if with_log:
                # Before the first read, so that the index of the log is made in memory.
                self._raw.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._raw.set_busy_timeout(self._busy_ms)
            for pragma in (*_PRAGMAS, f"PRAGMA cache_size = -{cache_kb}"):
                self._raw.execute(pragma)
        except apsw.Error as error:
            raise translate_error(error, path) from error

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return all it gives."""
        try:
            return self._raw.execute(statement, values).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translate_error(error, self.path) from error

    def row(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a statement and return the first row it gives."""
        try:
            return self._raw.execute(statement, values).fetchone()
        except (apsw.Error, UnicodeDecodeError) as error:
            raise translate_error(error, self.path) from error

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed.

        Raises:
            ConstraintBroken: It breaks a uniqueness.
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
        """See the shared protocol."""
        return apsw.carray(tuple(values))

    def bind_integers(self, values: Sequence[int]) -> Any:
        """See the shared protocol."""
        return apsw.carray(array("q", values))

    def bind_vector(self, stored: Any) -> Any:
        """See the shared protocol."""
        return stored

    def load_extension(self, library: str, functions: Mapping[str, Callable[..., Any]]) -> None:
        """Load a library of SQLite's functions, and add functions of one value, where not done yet.

        Raises:
            StoreUnavailable: It can't be loaded.
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
        """See the shared protocol. Who writes has the whole file: nothing is to be locked."""
        del lock
        row = self.row(_SELECT_OWNER_ROW, (owner_id,))
        return OwnerRow(*row) if row else OwnerRow()

    def insert_owner(self, owner_id: str, key_version: int) -> OwnerRow:
        """See the shared protocol."""
        self.run("INSERT INTO owners (name, key_version) VALUES (?, ?)", (owner_id, key_version))
        return self.get_owner(owner_id)

    def begin_reading(self) -> None:
        """Begin a transaction that sees the file as of its first read."""
        self.run("BEGIN")

    def begin_writing(self, timeout_s: float) -> None:
        """Begin a transaction with the write lock, waiting for it.

        Raises:
            StoreUnavailable: Another process holds it for longer than that.
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
        """End the transaction, if one is open, and undo it."""
        if self._raw.in_transaction:
            # A full disk or a failed read has already ended it, or the file is beyond help; the
            # error that led here says more than the one from here would.
            with suppress(apsw.Error):
                self._raw.execute("ROLLBACK")

    def back_up(self, target: Path, advance: Callable[[int], None] | None = None) -> None:
        """Copy the file, as this connection sees it, to another.

        Outside a transaction that is the last committed state.

        Args:
            target: The other file.
            advance: Called with a number of pages as they are copied.
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
        """Close it."""
        try:
            self._raw.close()
        except apsw.Error as error:
            raise translate_error(error, self.path) from error

    def abandon(self) -> None:
        """Forget it without closing; see `_abandoned`."""
        _inherited_connections.append(self._raw)


class Connections:
    """Gives readers to threads, and the writer to one at a time.

    After a fork, the child opens connections of its own at the next use, and leaves its
    parent's alone. Forking while a transaction is open is not supported.
    """

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        """Keep the path; nothing is opened yet."""
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
        """Lend a connection with a read transaction begun; whose rows are meant is the same."""
        del owner_id
        connection = self._borrow()
        try:
            connection.begin_reading()
            yield connection
        finally:
            connection.roll_back()
            self._give_back(connection)

    @contextmanager
    def write(self, owner_id: str | None = None) -> Iterator[Connection]:
        """Lend the writer, with the file's write lock held, whoever is written for.

        What the block does not commit is undone at its end.
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
        """Lend the writer without a transaction, for what can't be done within one."""
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
        """Close what is open: readers at once or, while lent, when given back.

        Raises:
            StoreUnavailable: A write does not end.
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

    def _give_back(self, connection: Connection) -> None:
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
