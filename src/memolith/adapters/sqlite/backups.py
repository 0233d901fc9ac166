"""Copying a store's file while it is in use, and putting a copy in its place."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.folders import make_folder, sync_folder
from memolith.adapters.sqlite.connections import Connection
from memolith.adapters.sqlite.opening import read_cipher_info
from memolith.adapters.sqlite.unpacking import read_backup_cipher_info, unpack_backup
from memolith.errors import Conflict, KeyUnavailable, StoreDamaged, StoreUnavailable
from memolith.ports.backups import RestoreResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.adapters.sqlite.connections import Connections
    from memolith.adapters.sqlite.unpacking import BackupKeys, Tombstones
    from memolith.ports.backups import ProgressCallback
    from memolith.ports.cipher import Cipher, CipherProvider

_LOG_SUFFIXES = ("-wal", "-shm", "-journal")


def back_up(
    connections: Connections, target: Path, *, overwrite: bool, advance: ProgressCallback | None
) -> int:
    """Do what the port's `back_up` says."""
    path = Path(target).absolute()
    _refuse_own_files(path, connections.path)
    refuse_to_overwrite(path, overwrite=overwrite)
    with connections.read() as reader, create_partial_file(path) as part:
        reader.row("SELECT 1 FROM meta")  # from here on it sees one state, whoever writes
        reader.back_up(part, advance)
        return put_in_place(part, path)


def restore(
    source: Path,
    target: Path,
    keys: BackupKeys,
    *,
    analyser: int = 1,
    force: bool = False,
    busy_timeout_s: float = 5.0,
) -> RestoreResult:
    """Put a backup in a store's place; the store that was there is kept beside it.

    The backup is copied and checked first, brought up to date, and rid of the owners who were
    erased since; then it takes the store's place in one step.

    Args:
        source: The backup.
        target: The store's file; need not be there.
        keys: Where the key of the backup, and that of the store, may be.
        analyser: See `SqliteStore.open`.
        force: Whether it may take the place of a store.
        busy_timeout_s: For how long to wait for others.

    Raises:
        NotFound: There is no such backup.
        Conflict: There is a store already.
        StoreDamaged: The backup is none, or is damaged.
        StoreTooNew: A newer Memolith wrote it.
        KeyUnavailable: There is no key to it.
        StoreUnavailable: The store is open somewhere, or files can't be written.
    """
    source, target = Path(source).absolute(), Path(target).absolute()
    seal = read_backup_cipher_info(source, busy_timeout_s)
    there = target.exists()
    if there and (not force or target.samefile(source)):
        raise Conflict(f"there is a store already: {target}")
    keys.find_cipher(seal)
    with create_partial_file(target) as part:
        copy = unpack_backup(source, part, keys, analyser=analyser, busy_timeout_s=busy_timeout_s)
        replaced = _find_cipher(target, keys.target, busy_timeout_s) if there else copy.cipher
        with _open_exclusively(target, busy_timeout_s) as tombstones:
            owners, erased = copy.remove_erased(replaced or copy.cipher, tombstones or ())
            copy.adopt_keys(keys.target)
            sync_file(part)
            kept = _keep_previous_store(target) if there else None
            part.replace(target)
            sync_folder(target.parent)
    remembers = tombstones is not None and replaced is not None
    return RestoreResult(target, kept, owners, erased, erasures_known=remembers)


def _refuse_own_files(path: Path, store: Path) -> None:
    if path in (store, *(store.with_name(store.name + log) for log in _LOG_SUFFIXES)) or (
        path.exists() and path.samefile(store)
    ):
        raise Conflict("a backup can't take the place of the store itself")


def refuse_to_overwrite(path: Path, *, overwrite: bool) -> None:
    """Refuse a place for a backup where something is.

    Raises:
        Conflict: Something is, which is no file or must not be overwritten.
    """
    if path.exists() and not (overwrite and path.is_file()):
        raise Conflict(f"there is a file already: {path}")


@contextmanager
def create_partial_file(path: Path) -> Iterator[Path]:
    """Give an empty file beside another, for its owner only, and remove what is left of it."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        make_folder(path.parent)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
    finally:
        for left in part.parent.glob(f"{glob.escape(part.name)}*"):
            with suppress(OSError):
                left.unlink()


def put_in_place(part: Path, path: Path) -> int:
    """Give a copy its name, as a file that needs no log beside it, durably; return its size."""
    with closing(Connection(part, 0)) as copy:
        copy.run("PRAGMA journal_mode = DELETE")
    sync_file(part)
    size = part.stat().st_size
    part.replace(path)
    sync_folder(path.parent)
    return size


@contextmanager
def _open_exclusively(target: Path, busy_timeout_s: float) -> Iterator[Tombstones | None]:
    """Keep everybody else out of a store, and give its tombstones; None: it is too damaged.

    Whoever has it open in write-ahead mode holds a lock, which keeps the mode from changing.

    Raises:
        StoreUnavailable: Somebody has it open.
    """
    if not target.exists():
        yield ()
        return
    try:
        connection = Connection(target, busy_timeout_s)
    except StoreDamaged:
        yield None
        return
    try:
        tombstones = _lock_and_read_tombstones(connection, busy_timeout_s)
        if os.name == "nt":  # where an open file can't be moved
            connection.close()
        yield tombstones
    finally:
        connection.close()


def _lock_and_read_tombstones(connection: Connection, busy_timeout_s: float) -> Tombstones | None:
    try:
        connection.run("PRAGMA journal_mode = DELETE")
        connection.run("BEGIN EXCLUSIVE")
        return [(row[0], row[1]) for row in connection.rows("SELECT * FROM tombstones")]
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"{connection.path} is open in another program: close it first", busy_timeout_s
        ) from error
    except StoreDamaged:
        return None


def _find_cipher(target: Path, ciphers: CipherProvider, busy_timeout_s: float) -> Cipher | None:
    """Return the cipher of the store that is replaced; None: nobody can tell."""
    try:
        seal = read_cipher_info(target, busy_timeout_s)
        return ciphers.load(*seal) if seal else None
    except (StoreDamaged, KeyUnavailable):
        return None


def _keep_previous_store(target: Path) -> Path:
    """Give a store a second name beside its own, which another file may then take."""
    number, kept = 1, target.with_name(f"{target.name}.before-restore")
    while kept.exists():
        number += 1
        kept = target.with_name(f"{target.name}.before-restore-{number}")
    try:
        os.link(target, kept)
    except OSError:  # a file system without links
        shutil.copy2(target, kept)
    for log in _LOG_SUFFIXES:  # left only by a store too damaged to be opened
        beside = target.with_name(target.name + log)
        if beside.exists():
            beside.replace(kept.with_name(kept.name + log))
    return kept


def sync_file(path: Path) -> None:
    """See a file's content on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
