"""Opening a file to read it only: to look at it first, or where nothing can be written.

SQLite reads a file with a write-ahead log through a third file, the log's index, which it makes
beside the other two. Where that can't be made there are three cases:

- The index is there: somebody has the store open, or had it when the folder was copied or
  frozen. SQLite reads through it, with locks, and sees what others write.
- There is a log but no index. The log holds the last writes and must be read too: with an index
  in memory and without locks, which only Unix can do. (To read a copy made elsewhere would leave
  memories in one more place.)
- There is no log: nobody has the store open, and the file is all of it. It is read without locks.

Reading without locks is right while nobody writes. Somebody may for whom the place is writable,
so a file read that way is looked at before and after each transaction: where it or its log has
changed, it is opened anew, and what was read meanwhile is refused.
"""

from __future__ import annotations

import os
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import apsw

from memolith.adapters.sqlite.connections import Connection, Connections, is_disk_full
from memolith.errors import StoreDamaged, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG_SUFFIX, _LOG_INDEX_SUFFIX = "-wal", "-shm"

_INDEX_BYTES = 32_768
"""The least that SQLite makes the index of a log; it is less where there was no room for it."""


class _FileState(NamedTuple):
    """What tells that a file is another than it was."""

    inode: int
    size: int
    written_at: int


_StoreState = tuple[_FileState | None, _FileState | None]
"""What tells whether somebody has written to a store: its file and its log."""


def find_write_obstacle(path: Path) -> str | None:
    """Return what keeps a store's file, which is there, from being written; None: nothing.

    Asked of the system, not tried: to open a file and close it would let go of this process's
    locks on it.
    """
    logs = [_companion_path(path, ending) for ending in (_LOG_SUFFIX, _LOG_INDEX_SUFFIX)]
    there = [log for log in logs if log.exists()]
    if not os.access(path, os.W_OK):
        return "the file is not writable"
    for log in there:
        if not os.access(log, os.W_OK):
            return f"{log.name} beside it is not writable"
    if len(there) < len(logs) and not os.access(path.parent, os.W_OK):
        return f"its folder {path.parent} is not writable"
    return None


def is_disk_full_error(error: StoreUnavailable, path: Path) -> bool:
    """Whether a store could not be opened as the disk is full."""
    causes = (apsw.FullError, apsw.IOError, apsw.CantOpenError)
    return isinstance(error.__cause__, causes) and is_disk_full(path)


def find_write_error(path: Path, busy_timeout_s: float) -> StoreReadOnly | StoreUnavailable | None:
    """Return what to tell who wants to write to a store that is there; None: nothing.

    Raises:
        StoreUnavailable: It can't be opened at all.
    """
    reason = find_write_obstacle(path)
    if reason is not None:
        return StoreReadOnly(str(path), reason)
    try:
        with closing(Connection(path, busy_timeout_s)) as connection:
            connection.row("SELECT 1 FROM sqlite_schema")
    except StoreUnavailable as error:
        if is_disk_full_error(error, path):
            return error
        raise
    return None


def open_read_only(path: Path, busy_timeout_s: float, *, disk_full: bool = False) -> Connection:
    """Open a store's file to read it, without changing a byte of it.

    Args:
        path: The file.
        busy_timeout_s: For how long to wait for locks.
        no_room: There is none for the log's index: do without, unless it is there.

    Raises:
        StoreUnavailable: It can't be opened.
        StoreReadOnly: It has a log that can't be read there.
        StoreDamaged: It is no database.
    """
    log = _file_state(_companion_path(path, _LOG_SUFFIX))
    # Without a log, even reading would make one.
    alone = log is None or (
        not _has_log_index(path) and (disk_full or find_write_obstacle(path) is not None)
    )
    with_log = alone and log is not None and log.size > 0
    return Connection(path, busy_timeout_s, read_only=True, exclusive=alone, with_log=with_log)


class ReadOnlyConnections(Connections):
    """Gives readers of a file that can't be written; a writer when it can be again."""

    def __init__(
        self, path: Path, busy_timeout_s: float, write_error: StoreReadOnly | StoreUnavailable
    ) -> None:
        """Take the path, and why it can't be written now."""
        super().__init__(path, busy_timeout_s)
        self._disk_full = isinstance(write_error, StoreUnavailable)
        self._last_state = self._read_state()
        self._unlocked = False
        self._writable: Connections | None = None

    @contextmanager
    def read(self, owner_id: str | None = None) -> Iterator[Connection]:
        """See `Connections`.

        Raises:
            StoreUnavailable: Another program wrote to the file meanwhile: try again.
        """
        del owner_id
        if self._writable is not None:
            with self._writable.read() as connection:
                yield connection
            return
        look = self._refresh_state()
        connection = self._borrow()
        try:
            connection.begin_reading()
            yield connection
        except StoreDamaged:
            self._refuse_changed(look)
            raise
        finally:
            connection.roll_back()
            self._return_connection(connection, look)
        self._refuse_changed(look)

    @contextmanager
    def idle_writer(self) -> Iterator[Connection]:
        """See `Connections`.

        Raises:
            StoreReadOnly: It can't be written.
            StoreUnavailable: The disk is full.
        """
        self._refuse_if_closed()
        with (self._writable or self._make_writable()).idle_writer() as connection:
            yield connection

    def close(self) -> None:
        """See `Connections`."""
        super().close()
        if self._writable is not None:
            self._writable.close()

    def _make_writable(self) -> Connections:
        refused = find_write_error(self.path, self.busy_timeout_s)
        if refused is not None:
            raise refused
        if self._unlocked:
            raise StoreReadOnly(str(self.path), "it was opened where it could not be: open it anew")
        with self._lock:
            self._writable = self._writable or Connections(self.path, self.busy_timeout_s)
        return self._writable

    def _open_reader(self) -> Connection:
        connection = open_read_only(self.path, self.busy_timeout_s, disk_full=self._disk_full)
        # Closing a file that was opened past SQLite's locks drops those that this process has.
        self._unlocked = self._unlocked or connection.with_log
        return connection

    def _read_state(self) -> _StoreState | None:
        """Look at the file and its log; None where they are read with locks."""
        log = _file_state(_companion_path(self.path, _LOG_SUFFIX))
        if log is not None and _has_log_index(self.path):
            return None
        return _file_state(self.path), log

    def _refresh_state(self) -> _StoreState | None:
        """Look at the file; what was opened before a change is let go."""
        look = self._read_state()
        with self._lock:
            stale, self._last_state = self._last_state != look, look
            idle, self._idle = (self._idle, []) if stale else ([], self._idle)
        for connection in idle:
            connection.close()
        return look

    def _return_connection(self, connection: Connection, state: _StoreState | None) -> None:
        if self._last_state == state:
            self._give_back(connection)
        else:
            connection.close()

    def _refuse_changed(self, state: _StoreState | None) -> None:
        if state is not None and self._read_state() != state:
            raise StoreUnavailable(
                f"{self.path} was written to by another program while it was read: try again"
            )


def _file_state(path: Path) -> _FileState | None:
    """Return what is seen of a file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return _FileState(found.st_ino, found.st_size, found.st_mtime_ns)


def _has_log_index(path: Path) -> bool:
    index = _file_state(_companion_path(path, _LOG_INDEX_SUFFIX))
    return index is not None and index.size >= _INDEX_BYTES


def _companion_path(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
