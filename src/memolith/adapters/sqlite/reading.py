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

from memolith.adapters.sqlite.connections import Connection, Connections, lacks_room
from memolith.errors import StoreDamaged, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG, _INDEX = "-wal", "-shm"

_INDEX_BYTES = 32_768
"""The least that SQLite makes the index of a log; it is less where there was no room for it."""


class _Seen(NamedTuple):
    """What tells that a file is another than it was."""

    number: int
    size: int
    written_at: int


_Look = tuple[_Seen | None, _Seen | None]
"""What tells whether somebody has written to a store: its file and its log."""


def obstacle(path: Path) -> str | None:
    """Return what keeps a store's file, which is there, from being written; None: nothing.

    Asked of the system, not tried: to open a file and close it would let go of this process's
    locks on it.
    """
    logs = [_beside(path, ending) for ending in (_LOG, _INDEX)]
    there = [log for log in logs if log.exists()]
    if not os.access(path, os.W_OK):
        return "the file is not writable"
    for log in there:
        if not os.access(log, os.W_OK):
            return f"{log.name} beside it is not writable"
    if len(there) < len(logs) and not os.access(path.parent, os.W_OK):
        return f"its folder {path.parent} is not writable"
    return None


def is_of_room(error: StoreUnavailable, path: Path) -> bool:
    """Whether a store could not be opened as the disk is full."""
    causes = (apsw.FullError, apsw.IOError, apsw.CantOpenError)
    return isinstance(error.__cause__, causes) and lacks_room(path)


def hindrance(path: Path, busy_timeout_s: float) -> StoreReadOnly | StoreUnavailable | None:
    """Return what to tell who wants to write to a store that is there; None: nothing.

    Raises:
        StoreUnavailable: It can't be opened at all.
    """
    reason = obstacle(path)
    if reason is not None:
        return StoreReadOnly(str(path), reason)
    try:
        with closing(Connection(path, busy_timeout_s)) as connection:
            connection.row("SELECT 1 FROM sqlite_schema")
    except StoreUnavailable as error:
        if is_of_room(error, path):
            return error
        raise
    return None


def open_to_read(path: Path, busy_timeout_s: float, *, no_room: bool = False) -> Connection:
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
    log = _seen(_beside(path, _LOG))
    # Without a log, even reading would make one.
    alone = log is None or (not _is_indexed(path) and (no_room or obstacle(path) is not None))
    with_log = alone and log is not None and log.size > 0
    return Connection(path, busy_timeout_s, read_only=True, alone=alone, with_log=with_log)


class ReadOnlyConnections(Connections):
    """Gives readers of a file that can't be written; a writer when it can be again."""

    def __init__(
        self, path: Path, busy_timeout_s: float, refused: StoreReadOnly | StoreUnavailable
    ) -> None:
        """Take the path, and why it can't be written now."""
        super().__init__(path, busy_timeout_s)
        self._no_room = isinstance(refused, StoreUnavailable)
        self._look = self._looked_at()
        self._unlocked = False
        self._writable: Connections | None = None

    @contextmanager
    def reading(self, owner_id: str | None = None) -> Iterator[Connection]:
        """See `Connections`.

        Raises:
            StoreUnavailable: Another program wrote to the file meanwhile: try again.
        """
        del owner_id
        if self._writable is not None:
            with self._writable.reading() as connection:
                yield connection
            return
        look = self._settled_look()
        connection = self._borrow()
        try:
            connection.begin_reading()
            yield connection
        except StoreDamaged:
            self._refuse_changed(look)
            raise
        finally:
            connection.roll_back()
            self._return(connection, look)
        self._refuse_changed(look)

    @contextmanager
    def idle_writer(self) -> Iterator[Connection]:
        """See `Connections`.

        Raises:
            StoreReadOnly: It can't be written.
            StoreUnavailable: The disk is full.
        """
        self._refuse_if_closed()
        with (self._writable or self._made_writable()).idle_writer() as connection:
            yield connection

    def close(self) -> None:
        """See `Connections`."""
        super().close()
        if self._writable is not None:
            self._writable.close()

    def _made_writable(self) -> Connections:
        refused = hindrance(self.path, self.busy_timeout_s)
        if refused is not None:
            raise refused
        if self._unlocked:
            raise StoreReadOnly(str(self.path), "it was opened where it could not be: open it anew")
        with self._lock:
            self._writable = self._writable or Connections(self.path, self.busy_timeout_s)
        return self._writable

    def _open_reader(self) -> Connection:
        connection = open_to_read(self.path, self.busy_timeout_s, no_room=self._no_room)
        # Closing a file that was opened past SQLite's locks drops those that this process has.
        self._unlocked = self._unlocked or connection.with_log
        return connection

    def _looked_at(self) -> _Look | None:
        """Look at the file and its log; None where they are read with locks."""
        log = _seen(_beside(self.path, _LOG))
        if log is not None and _is_indexed(self.path):
            return None
        return _seen(self.path), log

    def _settled_look(self) -> _Look | None:
        """Look at the file; what was opened before a change is let go."""
        look = self._looked_at()
        with self._lock:
            stale, self._look = self._look != look, look
            idle, self._idle = (self._idle, []) if stale else ([], self._idle)
        for connection in idle:
            connection.close()
        return look

    def _return(self, connection: Connection, look: _Look | None) -> None:
        if self._look == look:
            self._give_back(connection)
        else:
            connection.close()

    def _refuse_changed(self, look: _Look | None) -> None:
        if look is not None and self._looked_at() != look:
            raise StoreUnavailable(
                f"{self.path} was written to by another program while it was read: try again"
            )


def _seen(path: Path) -> _Seen | None:
    """Return what is seen of a file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return _Seen(found.st_ino, found.st_size, found.st_mtime_ns)


def _is_indexed(path: Path) -> bool:
    index = _seen(_beside(path, _INDEX))
    return index is not None and index.size >= _INDEX_BYTES


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
