"""Open a store's file: identify it, create or migrate it, or fall back to read-only access."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import apsw

from memolith.adapters.files import make_folder
from memolith.adapters.sqlite.connections import Connection, Connections, is_disk_full
from memolith.adapters.sqlite.schema import APPLICATION_ID, MIGRATIONS
from memolith.errors import StoreDamaged, StoreReadOnly, StoreTooNew, StoreUnavailable
from memolith.ports.cipher import Cipher, CipherProvider

CipherInfo = tuple[str, bytes, bytes]

_LOG_SUFFIX, _LOG_INDEX_SUFFIX = "-wal", "-shm"

_INDEX_BYTES = 32_768
"""Minimum size of a complete log index; smaller if the disk was full when it was created."""


class _FileState(NamedTuple):
    """Values that change when a file is replaced or modified."""

    inode: int
    size: int
    written_at: int


_StoreState = tuple[_FileState | None, _FileState | None]
"""State of a store's file and its write-ahead log, to detect writes by other processes."""


def find_write_obstacle(path: Path) -> str | None:
    """Return the reason why an existing store's file cannot be written, or None.

    Checks permissions without opening the file: closing it again would release this process's locks
    on it.
    """
    logs = [_companion_path(path, suffix) for suffix in (_LOG_SUFFIX, _LOG_INDEX_SUFFIX)]
    existing = [log for log in logs if log.exists()]
    if not os.access(path, os.W_OK):
        return "the file is not writable"
    for log in existing:
        if not os.access(log, os.W_OK):
            return f"{log.name} beside it is not writable"
    if len(existing) < len(logs) and not os.access(path.parent, os.W_OK):
        return f"its folder {path.parent} is not writable"
    return None


def is_disk_full_error(error: StoreUnavailable, path: Path) -> bool:
    """Return whether a store could not be opened because the disk is full."""
    causes = (apsw.FullError, apsw.IOError, apsw.CantOpenError)
    return isinstance(error.__cause__, causes) and is_disk_full(path)


def find_write_error(path: Path, busy_timeout_s: float) -> StoreReadOnly | StoreUnavailable | None:
    """Return the error for attempts to write to an existing store, or None if it is writable.

    Raises:
        StoreUnavailable: The store cannot be opened at all.
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
    """Open a store's file for reading, without changing a byte of it.

    Args:
        path: The file.
        busy_timeout_s: Timeout for locks.
        disk_full: Whether there is no space for a log index; use an existing one only.

    Raises:
        StoreUnavailable: The file cannot be opened.
        StoreReadOnly: The file has a log that cannot be read on this system.
        StoreDamaged: The file is not a database.
    """
    log = _file_state(_companion_path(path, _LOG_SUFFIX))
    # Without a log, even reading through SQLite would create one.
    exclusive = log is None or (
        not _has_log_index(path) and (disk_full or find_write_obstacle(path) is not None)
    )
    with_log = exclusive and log is not None and log.size > 0
    return Connection(path, busy_timeout_s, read_only=True, exclusive=exclusive, with_log=with_log)


class ReadOnlyConnections(Connections):
    """Readers of a file that cannot be written, and a writer as soon as it can be."""

    def __init__(
        self, path: Path, busy_timeout_s: float, write_error: StoreReadOnly | StoreUnavailable
    ) -> None:
        """Create the pool.

        Args:
            path: The file.
            busy_timeout_s: Timeout for locks.
            write_error: Why the file cannot be written now.
        """
        super().__init__(path, busy_timeout_s)
        self._disk_full = isinstance(write_error, StoreUnavailable)
        self._last_state = self._read_state()
        self._unlocked = False
        self._writable: Connections | None = None

    @contextmanager
    def read(self, owner_id: str | None = None) -> Iterator[Connection]:
        """See `Connections`.

        Raises:
            StoreUnavailable: Another program wrote to the file meanwhile. Retry.
        """
        del owner_id
        if self._writable is not None:
            with self._writable.read() as connection:
                yield connection
            return
        state = self._refresh_state()
        connection = self._borrow()
        try:
            connection.begin_reading()
            yield connection
        except StoreDamaged:
            self._refuse_changed(state)
            raise
        finally:
            connection.roll_back()
            self._return_connection(connection, state)
        self._refuse_changed(state)

    @contextmanager
    def idle_writer(self) -> Iterator[Connection]:
        """See `Connections`.

        Raises:
            StoreReadOnly: The file cannot be written.
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
        obstacle = find_write_error(self.path, self.busy_timeout_s)
        if obstacle is not None:
            raise obstacle
        if self._unlocked:
            raise StoreReadOnly(str(self.path), "it was opened read-only: open it again to write")
        with self._lock:
            self._writable = self._writable or Connections(self.path, self.busy_timeout_s)
        return self._writable

    def _open_reader(self) -> Connection:
        connection = open_read_only(self.path, self.busy_timeout_s, disk_full=self._disk_full)
        # Closing a file that was opened without SQLite's locks would drop this process's locks.
        self._unlocked = self._unlocked or connection.with_log
        return connection

    def _read_state(self) -> _StoreState | None:
        """Return the state of the file and its log, or None if SQLite's locks protect readers."""
        log = _file_state(_companion_path(self.path, _LOG_SUFFIX))
        if log is not None and _has_log_index(self.path):
            return None
        return _file_state(self.path), log

    def _refresh_state(self) -> _StoreState | None:
        """Return the current state, and close idle readers if the state has changed."""
        state = self._read_state()
        with self._lock:
            has_changed, self._last_state = self._last_state != state, state
            idle, self._idle = (self._idle, []) if has_changed else ([], self._idle)
        for connection in idle:
            connection.close()
        return state

    def _return_connection(self, connection: Connection, state: _StoreState | None) -> None:
        if self._last_state == state:
            self._release(connection)
        else:
            connection.close()

    def _refuse_changed(self, state: _StoreState | None) -> None:
        if state is not None and self._read_state() != state:
            raise StoreUnavailable(
                f"{self.path} was written to by another program during a read: try again"
            )


def _file_state(path: Path) -> _FileState | None:
    """Return the state of a file, or None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return _FileState(status.st_ino, status.st_size, status.st_mtime_ns)


def _has_log_index(path: Path) -> bool:
    index = _file_state(_companion_path(path, _LOG_INDEX_SUFFIX))
    return index is not None and index.size >= _INDEX_BYTES


def _companion_path(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


# --- Create, migrate and identify the file


_MODE = 0o600
_RETRY_S = 0.01
_SMALLEST_PAGE = 512
_NEWEST_POSSIBLE_SCHEMA = 2**31
_MNEMON_APPLICATION_ID = 0x4D6E656D
"""The application id of files of Mnemon, Memolith's first version."""


def connect(
    path: Path, *, ciphers: CipherProvider, analyser: int, busy_timeout_s: float
) -> tuple[Connections, Cipher]:
    """Open a store for writing, or read-only if it cannot be written.

    The store is created or migrated first if necessary.

    Raises:
        StoreUnavailable: The store cannot be opened or created, or stays locked.
        StoreReadOnly: The store cannot be written and needs a migration.
        StoreDamaged: The file is not a Memolith store.
        StoreTooNew: The store was written by a newer Memolith.
        KeyUnavailable: The key is missing or wrong. Nothing was changed.
    """
    is_nonempty = path.is_file() and path.stat().st_size > 0
    reason = find_write_obstacle(path) if is_nonempty else None
    if reason is not None:
        return _connect_to_read(path, ciphers, busy_timeout_s, StoreReadOnly(str(path), reason))
    try:
        cipher = prepare(path, ciphers=ciphers, analyser=analyser, busy_timeout_s=busy_timeout_s)
    except StoreUnavailable as error:
        if not (is_nonempty and is_disk_full_error(error, path)):
            raise
        return _connect_to_read(path, ciphers, busy_timeout_s, error)
    return Connections(path, busy_timeout_s), cipher


def _connect_to_read(
    path: Path,
    ciphers: CipherProvider,
    busy_timeout_s: float,
    write_error: StoreReadOnly | StoreUnavailable,
) -> tuple[Connections, Cipher]:
    _refuse_other_files(path)
    connections = ReadOnlyConnections(path, busy_timeout_s, write_error)
    try:
        with connections.read() as connection:
            _refuse_outdated(connection, write_error)
            return connections, ciphers.load(*_read_cipher_facts(connection))
    except BaseException:
        connections.close()
        raise


def _refuse_outdated(connection: Connection, write_error: StoreReadOnly | StoreUnavailable) -> None:
    if _read_schema_version(connection, len(MIGRATIONS)) == len(MIGRATIONS):
        return
    if isinstance(write_error, StoreUnavailable):
        raise write_error
    reason = (
        f"{write_error.reason}, and it must be migrated before this version of Memolith can read it"
    )
    raise StoreReadOnly(write_error.path, reason)


def prepare(
    path: Path,
    *,
    ciphers: CipherProvider,
    analyser: int,
    busy_timeout_s: float,
    migrations: Sequence[str] = MIGRATIONS,
) -> Cipher:
    """Create a new store or migrate an old one; return its cipher.

    Before a migration, the store is copied to `<name>.before-<schema>`. Files of other programs and
    of a newer Memolith are not changed. Several processes may call this at once.

    Raises:
        StoreUnavailable: The store cannot be opened or written, or stays locked.
        StoreDamaged: The file is not a Memolith store.
        StoreTooNew: The store was written by a newer Memolith.
        KeyUnavailable: The key is missing or wrong. Nothing was changed.
    """
    _create_store_folder(path)
    _refuse_other_files(path)
    # Before any write: even opening and closing a file may checkpoint its log.
    info = read_cipher_info(path, busy_timeout_s)
    cipher = ciphers.load(*info) if info else None
    is_new = not path.exists()
    connection = Connection(path, busy_timeout_s)
    try:
        if is_new:  # still empty; SQLite creates the files beside it with the same mode
            with suppress(OSError):  # the file system has no modes
                path.chmod(_MODE)
        if _read_schema_version(connection, len(migrations)) < len(migrations):
            made_with = (ciphers, analyser)
            new_cipher = _migrate(connection, migrations, made_with, busy_timeout_s)
            cipher = new_cipher or cipher
        return cipher or ciphers.load(*_read_cipher_facts(connection))
    finally:
        connection.close()


def read_cipher_info(path: Path, busy_timeout_s: float) -> CipherInfo | None:
    """Return a store's cipher name, store id and key check, or None for a new store.

    Does not change a byte of the file.

    Raises:
        StoreDamaged: The file is not a Memolith store.
        StoreUnavailable: The file cannot be opened.
    """
    if not path.exists() or not path.stat().st_size:
        return None
    connection = open_read_only(path, busy_timeout_s)
    try:
        # Accept any schema here; a newer one is refused elsewhere.
        return (
            _read_cipher_facts(connection)
            if _read_schema_version(connection, _NEWEST_POSSIBLE_SCHEMA)
            else None
        )
    finally:
        connection.close()


def _create_store_folder(path: Path) -> None:
    try:
        make_folder(path.parent)
    except OSError as error:
        raise StoreUnavailable(f"the store's folder cannot be created: {path.parent}") from error


def _refuse_other_files(path: Path) -> None:
    """Refuse a file shorter than a page, which SQLite would treat as empty and overwrite.

    Checks the size without opening the file: closing it again would release this process's locks on
    it.
    """
    try:
        size = path.stat().st_size if path.exists() else 0
    except OSError as error:
        raise StoreUnavailable(f"the store cannot be opened: {path}") from error
    if 0 < size < _SMALLEST_PAGE:
        raise StoreDamaged(f"{path} is not a Memolith store")


def check_application_id(application: int, path: Path | None) -> None:
    """Refuse a SQLite file that Memolith did not create.

    Raises:
        StoreDamaged: The file belongs to another program, or to Mnemon, Memolith's first version.
    """
    if application == _MNEMON_APPLICATION_ID:
        raise StoreDamaged(
            f"{path} was created by Mnemon, the version before Memolith; only Mnemon can open it"
        )
    if application != APPLICATION_ID:
        raise StoreDamaged(f"{path} is not a Memolith store")


def _read_schema_version(connection: Connection, newest: int) -> int:
    """Return the schema of the file, 0 for a new one; refuse files of other programs."""
    row = connection.row(
        "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id AS a, pragma_user_version AS v"
    )
    application, version, tables = row or (0, 0, 0)
    if (application, version, tables) == (0, 0, 0):
        return 0
    check_application_id(application, connection.path)
    if version > newest:
        raise StoreTooNew(version, newest)
    return int(version)


def _migrate(
    connection: Connection,
    migrations: Sequence[str],
    creation: tuple[CipherProvider, int],
    busy_timeout_s: float,
) -> Cipher | None:
    """Run pending migrations; return the cipher if this call created the store."""
    ciphers, analyser = creation
    cipher = None
    _use_wal(connection, busy_timeout_s)
    connection.begin_writing(busy_timeout_s)
    try:
        schema = _read_schema_version(
            connection, len(migrations)
        )  # another process may have migrated it already
        if 0 < schema < len(migrations):
            _copy_before_migration(connection.path, len(migrations), busy_timeout_s)
        for script in migrations[schema:]:
            connection.run(script)
        if schema == 0:
            # Under the write lock, so that two processes starting at once create one key.
            cipher = ciphers.create()
            connection.run_many(
                "INSERT INTO meta (name, value) VALUES (?, ?)",
                [("analyser", analyser), *_cipher_fact_rows(cipher)],
            )
        connection.run(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.run(f"PRAGMA user_version = {len(migrations)}")
        connection.run("COMMIT")
    finally:
        connection.roll_back()
    return cipher


def _use_wal(connection: Connection, busy_timeout_s: float) -> None:
    """Switch to write-ahead logging, retrying because SQLite does not wait for this lock."""
    started = monotonic()
    while True:
        try:
            connection.run("PRAGMA journal_mode = WAL")
        except StoreUnavailable as error:
            is_locked = isinstance(error.__cause__, (apsw.BusyError, apsw.LockedError))
            if not is_locked or monotonic() - started > busy_timeout_s:
                raise
            sleep(_RETRY_S)
        else:
            return


def _copy_before_migration(path: Path, schema: int, busy_timeout_s: float) -> None:
    """Copy the committed state. The caller holds the write lock."""
    target = path.with_name(f"{path.name}.before-{schema}")
    unfinished = target.with_name(f"{target.name}.part")
    unfinished.unlink(missing_ok=True)
    reader = Connection(path, busy_timeout_s)
    try:
        reader.back_up(unfinished)
    finally:
        reader.close()
    unfinished.replace(target)


def _read_cipher_facts(connection: Connection) -> CipherInfo:
    rows = connection.rows("SELECT name, value FROM meta")
    facts: dict[str, Any] = dict(rows)
    if "cipher" not in facts:
        raise StoreDamaged(f"{connection.path} does not name its cipher")
    return facts["cipher"], facts.get("store_id", b""), facts.get("key_check", b"")


def _cipher_fact_rows(cipher: Cipher) -> list[tuple[str, str | bytes]]:
    rows: list[tuple[str, str | bytes]] = [("cipher", cipher.name)]
    if cipher.store_id:
        rows += [("store_id", cipher.store_id), ("key_check", cipher.key_check)]
    return rows


# --- File status


@dataclass(frozen=True, slots=True)
class FileStatus:
    """The status of a store's file.

    Attributes:
        schema: The schema version of its tables.
        facts: The rows of the table `meta`.
        owners: The number of owners.
        size_bytes: The size on disk, including the write-ahead log.
    """

    schema: int
    facts: dict[str, str | int | bytes]
    owners: int
    size_bytes: int


def read_file_status(path: Path, busy_timeout_s: float) -> FileStatus | None:
    """Return the status of a store's file, or None if it is missing or empty. Changes nothing.

    Raises:
        StoreUnavailable: The file cannot be opened.
        StoreReadOnly: The file has a log that cannot be read on this system.
        StoreDamaged: The file is not a Memolith store.
    """
    if not path.is_file() or not path.stat().st_size:
        return None
    log_file = path.with_name(f"{path.name}-wal")
    size_bytes = path.stat().st_size + (log_file.stat().st_size if log_file.exists() else 0)
    with closing(open_read_only(path, busy_timeout_s)) as connection:
        application, schema = connection.row(
            "SELECT a.application_id, v.user_version"
            " FROM pragma_application_id AS a, pragma_user_version AS v"
        ) or (0, 0)
        check_application_id(application, path)
        facts: dict[str, str | int | bytes] = dict(connection.rows("SELECT name, value FROM meta"))
        (owners,) = connection.row("SELECT count(*) FROM owners") or (0,)
        return FileStatus(schema, facts, owners, size_bytes)


# --- Deletion


_COMPANION_SUFFIXES = ("-wal", "-shm", "-journal", "-vectors", ".before-")
"""Suffixes of the files that belong to a store, after the name of its file."""


def delete_store(
    path: Path, busy_timeout_s: float, delete_keys: Callable[[bytes], None]
) -> list[Path]:
    """Delete a store, its log, and the copies made before migrations; return the deleted files.

    Args:
        path: The store's file, which need not exist.
        busy_timeout_s: Timeout for the write lock.
        delete_keys: Deletes the keys of a store by its id. Called before any file is deleted.

    Raises:
        StoreDamaged: The file is not a Memolith store.
        StoreUnavailable: The store is being written, or cannot be opened.
        StoreReadOnly: The files cannot be deleted.
    """
    info = read_cipher_info(path, busy_timeout_s)
    if info is not None:
        if not os.access(path.parent, os.W_OK):  # check before the keys are deleted
            raise StoreReadOnly(str(path), f"its folder {path.parent} is not writable")
        _refuse_if_written(path, busy_timeout_s)
        if info[1]:
            delete_keys(info[1])
    if not path.parent.is_dir():
        return []
    names = tuple(f"{path.name}{suffix}" for suffix in _COMPANION_SUFFIXES)
    files = sorted(
        each
        for each in path.parent.iterdir()
        if each.is_file() and (each == path or each.name.startswith(names))
    )
    for each in files:
        each.unlink()
    return files


def _refuse_if_written(path: Path, busy_timeout_s: float) -> None:
    connection = Connection(path, busy_timeout_s)
    try:
        connection.begin_writing(busy_timeout_s)
        connection.roll_back()
    finally:
        connection.close()
