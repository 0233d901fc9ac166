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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from mnemon.adapters.sqlite.connections import Connection, Connections, lacks_room
from mnemon.errors import StoreDamaged, StoreReadOnly, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG, _INDEX = "-wal", "-shm"


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


def open_to_read(path: Path, busy_timeout_s: float, *, alone: bool = False) -> Connection:
    """Open a store's file to read it, without changing a byte of it.

    Args:
        path: The file.
        busy_timeout_s: For how long to wait for locks.
        alone: Do without locks in any case.

    Raises:
        StoreUnavailable: It can't be opened.
        StoreReadOnly: It has a log that can't be read there.
        StoreDamaged: It is no database.
    """
    log, index = (_beside(path, ending).exists() for ending in (_LOG, _INDEX))
    # Without a log, even reading would make one.
    alone = alone or not log or (not index and obstacle(path) is not None)
    with_log = alone and log and _beside(path, _LOG).stat().st_size > 0
    return Connection(path, busy_timeout_s, read_only=True, alone=alone, with_log=with_log)


@dataclass(frozen=True, slots=True)
class _Look:
    """What tells whether somebody has written to a store: size and time of the file and its log."""

    file: tuple[int, int, int]
    log: tuple[int, int, int] | None
    has_index: bool

    @classmethod
    def at(cls, path: Path) -> _Look:
        file = _seen(path)
        if file is None:
            raise StoreUnavailable(f"the store cannot be opened: {path}")
        return cls(file, _seen(_beside(path, _LOG)), _beside(path, _INDEX).exists())

    @property
    def is_shared(self) -> bool:
        """Whether it is read with locks, through the index of the log."""
        return self.log is not None and self.has_index


class ReadOnlyConnections(Connections):
    """Gives readers of a file that can't be written; a writer when it can be again."""

    def __init__(
        self, path: Path, busy_timeout_s: float, refused: StoreReadOnly | StoreUnavailable
    ) -> None:
        """Take the path, and why it can't be written now."""
        super().__init__(path, busy_timeout_s)
        # On a full disk not even the log's index can be made.
        self._alone = isinstance(refused, StoreUnavailable)
        self._look = _Look.at(path)
        self._writable: Connections | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """See `Connections`.

        Raises:
            StoreUnavailable: Another program wrote to the file meanwhile: try again.
        """
        if self._writable is not None:
            with self._writable.reading() as connection:
                yield connection
            return
        look = self._looked()
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
        if self._writable is None:
            refused = hindrance(self.path, self.busy_timeout_s)
            if refused is not None:
                raise refused
            self._writable = Connections(self.path, self.busy_timeout_s)
        with self._writable.idle_writer() as connection:
            yield connection

    def close(self) -> None:
        """See `Connections`."""
        super().close()
        if self._writable is not None:
            self._writable.close()

    def _open_reader(self) -> Connection:
        return open_to_read(self.path, self.busy_timeout_s, alone=self._alone)

    def _looked(self) -> _Look:
        """Look at the file; what was opened before a change is let go."""
        look = _Look.at(self.path)
        with self._lock:
            stale, self._look = self._look != look, look
            idle, self._idle = (self._idle, []) if stale else ([], self._idle)
        for connection in idle:
            connection.close()
        return look

    def _return(self, connection: Connection, look: _Look) -> None:
        if self._look == look:
            self._give_back(connection)
        else:
            connection.close()

    def _refuse_changed(self, look: _Look) -> None:
        is_locked = look.is_shared and not self._alone
        if not is_locked and _Look.at(self.path) != look:
            raise StoreUnavailable(
                f"{self.path} was written to by another program while it was read: try again"
            )


def _seen(path: Path) -> tuple[int, int, int] | None:
    """Return a file's identity, size and time; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
