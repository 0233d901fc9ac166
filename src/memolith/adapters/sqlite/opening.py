"""Opening a file: is it ours, is it new, must it be brought up to date?"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import apsw

from memolith.adapters.folders import make_folder
from memolith.adapters.sqlite.connections import Connection, Connections
from memolith.adapters.sqlite.reading import (
    ReadOnlyConnections,
    find_write_obstacle,
    is_disk_full_error,
    open_read_only,
)
from memolith.adapters.sqlite.schema import APPLICATION_ID, MIGRATIONS
from memolith.errors import StoreDamaged, StoreReadOnly, StoreTooNew, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memolith.ports.cipher import Cipher, CipherProvider

    CipherInfo = tuple[str, bytes, bytes]

_MODE = 0o600
_RETRY_S = 0.01
_SMALLEST_PAGE = 512
_NEWEST_POSSIBLE_SCHEMA = 2**31
_MNEMON_APPLICATION_ID = 0x4D6E656D
"""Marks a file of Mnemon, Memolith's first version."""


def connect(
    path: Path, *, ciphers: CipherProvider, analyser: int, busy_timeout_s: float
) -> tuple[Connections, Cipher]:
    """Open a store to write it, made or brought up to date where needed, or else to read it.

    Raises:
        StoreUnavailable: It can't be opened or made, or stays locked.
        StoreReadOnly: It can't be written, and must be brought up to date first.
        StoreDamaged: It is not a store of Memolith.
        StoreTooNew: A newer Memolith has written it.
        KeyUnavailable: Its key is missing, or another; nothing was changed.
    """
    is_there = path.is_file() and path.stat().st_size > 0
    reason = find_write_obstacle(path) if is_there else None
    if reason is not None:
        return _connect_to_read(path, ciphers, busy_timeout_s, StoreReadOnly(str(path), reason))
    try:
        cipher = prepare(path, ciphers=ciphers, analyser=analyser, busy_timeout_s=busy_timeout_s)
    except StoreUnavailable as error:
        if not (is_there and is_disk_full_error(error, path)):
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
        f"{write_error.reason}, and it must be brought up to date before this Memolith can read it"
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
    """Make a new store, or bring an old one up to date; return its cipher.

    Before an existing store is migrated it is copied beside itself, as `<name>.before-<schema>`.
    What is not a store of Memolith, or of a newer one, is left as it is. Several processes may
    do this at once.

    Raises:
        StoreUnavailable: It can't be opened or written, or stays locked.
        StoreDamaged: It is not a store of Memolith.
        StoreTooNew: A newer Memolith has written it.
        KeyUnavailable: Its key is missing, or another; nothing was changed.
    """
    _create_store_folder(path)
    _refuse_other_files(path)
    # Before anything is written: even to open a file and close it again may move its log.
    seal = read_cipher_info(path, busy_timeout_s)
    cipher = ciphers.load(*seal) if seal else None
    is_new = not path.exists()
    connection = Connection(path, busy_timeout_s)
    try:
        if is_new:  # nothing is in it yet; what SQLite makes beside it has its mode
            with suppress(OSError):  # a file system without modes
                path.chmod(_MODE)
        if _read_schema_version(connection, len(migrations)) < len(migrations):
            made_with = (ciphers, analyser)
            made = _migrate(connection, migrations, made_with, busy_timeout_s)
            cipher = made or cipher
        return cipher or ciphers.load(*_read_cipher_facts(connection))
    finally:
        connection.close()


def read_cipher_info(path: Path, busy_timeout_s: float) -> CipherInfo | None:
    """Return what a store says of its cipher, without changing a byte; None for a new one.

    Raises:
        StoreDamaged: It is not a store of Memolith.
        StoreUnavailable: It can't be opened.
    """
    if not path.exists() or not path.stat().st_size:
        return None
    connection = open_read_only(path, busy_timeout_s)
    try:
        # What a newer Memolith wrote is refused elsewhere; here any schema will do.
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
        raise StoreUnavailable(f"the store's folder cannot be made: {path.parent}") from error


def _refuse_other_files(path: Path) -> None:
    """Refuse a file that is shorter than a page: SQLite would take it for empty, and write.

    Its size is all that is looked at: to open and close the file would let go of the locks
    that this process holds on it.
    """
    try:
        size = path.stat().st_size if path.exists() else 0
    except OSError as error:
        raise StoreUnavailable(f"the store cannot be opened: {path}") from error
    if 0 < size < _SMALLEST_PAGE:
        raise StoreDamaged(f"{path} is not a store of Memolith")


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
    """Return the schema of the file, 0 for a new one; refuse what is not ours."""
    found = connection.row(
        "SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id AS a, pragma_user_version AS v"
    )
    application, version, tables = found or (0, 0, 0)
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
    """Return the cipher of a store that was made by this."""
    ciphers, analyser = creation
    cipher = None
    _use_wal(connection, busy_timeout_s)
    connection.begin_writing(busy_timeout_s)
    try:
        schema = _read_schema_version(
            connection, len(migrations)
        )  # another process may have been faster
        if 0 < schema < len(migrations):
            _copy_before_migration(connection.path, len(migrations), busy_timeout_s)
        for script in migrations[schema:]:
            connection.run(script)
        if schema == 0:
            # Under the write lock: of two first starts, one makes a key.
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
    """Switch to write-ahead logging, for which SQLite does not wait by itself."""
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
    """Copy what is committed; the caller holds the write lock, so it is the state before."""
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
    found: dict[str, Any] = dict(rows)
    if "cipher" not in found:
        raise StoreDamaged(f"{connection.path} does not say what it was encrypted with")
    return found["cipher"], found.get("store_id", b""), found.get("key_check", b"")


def _cipher_fact_rows(cipher: Cipher) -> list[tuple[str, str | bytes]]:
    rows: list[tuple[str, str | bytes]] = [("cipher", cipher.name)]
    if cipher.store_id:
        rows += [("store_id", cipher.store_id), ("key_check", cipher.key_check)]
    return rows
