"""Back up a SQLite store while it is in use, and restore a backup.

Restoring verifies the backup, migrates it to the current schema, and removes owners who were erased
after it was made.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memolith.adapters.files import make_folder, sync_folder
from memolith.adapters.sql.erasure import erase_rows
from memolith.adapters.sql.store import save_facts
from memolith.adapters.sqlite.connections import Connection, Connections
from memolith.adapters.sqlite.opening import CipherInfo, open_read_only, prepare, read_cipher_info
from memolith.adapters.sqlite.scrubbing import scrub
from memolith.errors import Conflict, KeyUnavailable, NotFound, StoreDamaged, StoreUnavailable
from memolith.ports.admin import ProgressCallback, RestoreResult
from memolith.ports.cipher import (
    Cipher,
    CipherProvider,
    SupportsClone,
    SupportsKeyCopy,
    SupportsKeyRotation,
)

Tombstones = Sequence[tuple[bytes, int]]

_UNKNOWN_ERASURE_TIME = 0
"""Time of an erasure that is only known from a deleted key."""

_INSERT_TOMBSTONE = "INSERT INTO tombstones VALUES (?, ?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class BackupKeys:
    """Where to look for the keys of a backup.

    Attributes:
        target: The key ring of the restored store.
        source: Another key ring, whose keys are then copied to the target.
    """

    target: CipherProvider
    source: CipherProvider | None = None

    def find_cipher(self, cipher_info: CipherInfo) -> tuple[Cipher, bool]:
        """Return a backup's cipher, and whether its keys are in the target's key ring.

        Raises:
            KeyUnavailable: Neither key ring contains them.
        """
        try:
            return self.target.load(*cipher_info), True
        except KeyUnavailable:
            if self.source is None:
                raise
            return self.source.load(*cipher_info), False


@dataclass(frozen=True, slots=True)
class UnpackedBackup:
    """A verified working copy of a backup.

    Attributes:
        part: The file of the copy.
        cipher: Its cipher.
        has_own_keys: Whether its keys are in the target's key ring.
        busy_timeout_s: Timeout for locks.
    """

    part: Path
    cipher: Cipher
    has_own_keys: bool
    busy_timeout_s: float

    def remove_erased(self, replaced_cipher: Cipher, tombstones: Tombstones) -> tuple[int, int]:
        """Remove erased owners; return the numbers of remaining and removed owners.

        Args:
            replaced_cipher: The cipher of the replaced store, which may be a different store.
            tombstones: The tombstones of the replaced store.
        """
        cipher, erasure_times = self.cipher, dict(tombstones)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            copy.begin_writing(self.busy_timeout_s)
            copy.run_many(_INSERT_TOMBSTONE, tombstones)
            owners = copy.rows("SELECT name, key_version FROM owners")
            erased_at = {
                name: erasure_times[digest]
                for name, _ in owners
                if (digest := replaced_cipher.tombstone(name)) in erasure_times
            }
            unkeyed = _find_keyless_owners(cipher, owners)
            for name in {**erased_at, **unkeyed}:
                erase_rows(copy, name)
            copy.run_many(
                _INSERT_TOMBSTONE,
                [
                    (cipher.tombstone(name), erased_at.get(name, _UNKNOWN_ERASURE_TIME))
                    for name in {**erased_at, **unkeyed}
                    if name in erased_at or not unkeyed[name]
                ],
            )
            copy.run("COMMIT")
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")
        erased = len({**erased_at, **unkeyed})
        if erased:
            self._scrub()
        if self.has_own_keys and isinstance(cipher, SupportsKeyRotation):
            for name in erased_at:
                cipher.erase(name)  # a restored key ring may contain the key again
        return len(owners) - erased, erased

    def _scrub(self) -> None:
        scrub(self.part, self.busy_timeout_s)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def adopt_keys(self, ciphers: CipherProvider) -> Cipher:
        """Return the cipher of the restored store, with its keys in the target's key ring.

        Args:
            ciphers: The target's key ring. A backup with keys elsewhere becomes a copy with its own
                store id.

        Raises:
            KeyUnavailable: The keys cannot be copied.
        """
        if self.has_own_keys:
            return self.cipher
        if not isinstance(ciphers, SupportsClone):
            raise KeyUnavailable("the keys of the backup can't be copied to those of the store")
        clone = ciphers.clone(self.cipher)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            if isinstance(clone, SupportsKeyCopy):
                for (name,) in copy.rows("SELECT name FROM owners"):
                    clone.copy_keys(name, self.cipher)
            copy.begin_writing(self.busy_timeout_s)
            save_facts(
                copy, {"store_id": clone.store_id or None, "key_check": clone.key_check or None}
            )
            copy.run("COMMIT")
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return clone


def unpack_backup(
    source: Path, part: Path, keys: BackupKeys, *, analyser: int, busy_timeout_s: float
) -> UnpackedBackup:
    """Copy a backup, verify the copy, and migrate it to the current schema.

    Args:
        source: The backup.
        part: An empty file for the copy.
        keys: Where to look for the keys.
        analyser: See `SqliteStore.open`.
        busy_timeout_s: Timeout for locks.

    Raises:
        StoreDamaged: The file is not a backup or is corrupt.
        StoreTooNew: The backup was written by a newer Memolith.
        KeyUnavailable: The key is missing.
        StoreUnavailable: The copy cannot be written.
    """
    cipher, is_own = keys.find_cipher(read_backup_cipher_info(source, busy_timeout_s))
    _copy_and_check(source, part, busy_timeout_s)
    ciphers = keys.target if is_own or keys.source is None else keys.source
    prepare(part, ciphers=ciphers, analyser=analyser, busy_timeout_s=busy_timeout_s)
    return UnpackedBackup(part, cipher, is_own, busy_timeout_s)


def read_backup_cipher_info(source: Path, busy_timeout_s: float) -> CipherInfo:
    """Return the cipher name, store id and key check of a backup.

    Raises:
        NotFound: The file does not exist.
        StoreDamaged: The file is not a backup.
    """
    if not source.is_file():
        raise NotFound("backup", str(source))
    info = read_cipher_info(source, busy_timeout_s)
    if info is None:
        raise StoreDamaged(f"{source} is empty")
    return info


def _copy_and_check(source: Path, part: Path, busy_timeout_s: float) -> None:
    """Copy a backup and check the copy's integrity."""
    with closing(open_read_only(source, busy_timeout_s)) as backup:
        backup.back_up(part)
    with closing(Connection(part, busy_timeout_s)) as copy:
        problems = copy.rows("PRAGMA integrity_check(1)")
        if problems != [("ok",)]:
            raise StoreDamaged(f"the backup {source} is damaged")
        copy.run("PRAGMA journal_mode = WAL")


def _find_keyless_owners(cipher: Cipher, owners: Iterable[tuple[str, int]]) -> dict[str, bool]:
    """Return the owners whose key was erased, and whether they have a new key.

    This keeps an erased owner erased even if no store with tombstones is left.
    """
    if not isinstance(cipher, SupportsKeyRotation):
        return {}
    return {
        name: bool(cipher.key_versions(name))
        for name, version in owners
        if cipher.is_erased(name, version)
    }


# --- Back up and restore


_LOG_SUFFIXES = ("-wal", "-shm", "-journal")


def back_up(
    connections: Connections, target: Path, *, overwrite: bool, advance: ProgressCallback | None
) -> int:
    """Implement `SupportsBackup.back_up` for a file."""
    path = Path(target).absolute()
    _refuse_own_files(path, connections.path)
    refuse_to_overwrite(path, overwrite=overwrite)
    with connections.read() as reader, create_partial_file(path) as part:
        reader.row("SELECT 1 FROM meta")  # the first read fixes the snapshot
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
    """Replace a store by a backup; the previous store is kept beside it.

    The backup is copied, verified and migrated first, and owners erased since are removed. Then the
    copy replaces the store atomically.

    Args:
        source: The backup.
        target: The store's file, which need not exist.
        keys: Where to look for the keys.
        analyser: See `SqliteStore.open`.
        force: Whether to replace an existing store.
        busy_timeout_s: Timeout for locks.

    Raises:
        NotFound: The backup does not exist.
        Conflict: The store exists, and `force` is not set.
        StoreDamaged: The file is not a backup or is corrupt.
        StoreTooNew: The backup was written by a newer Memolith.
        KeyUnavailable: The key is missing.
        StoreUnavailable: The store is in use, or files cannot be written.
    """
    source, target = Path(source).absolute(), Path(target).absolute()
    cipher_info = read_backup_cipher_info(source, busy_timeout_s)
    target_exists = target.exists()
    if target_exists and (not force or target.samefile(source)):
        raise Conflict(f"the store already exists: {target}")
    keys.find_cipher(cipher_info)
    with create_partial_file(target) as part:
        copy = unpack_backup(source, part, keys, analyser=analyser, busy_timeout_s=busy_timeout_s)
        replaced = (
            _find_cipher(target, keys.target, busy_timeout_s) if target_exists else copy.cipher
        )
        with _open_exclusively(target, busy_timeout_s) as tombstones:
            owners, erased = copy.remove_erased(replaced or copy.cipher, tombstones or ())
            copy.adopt_keys(keys.target)
            sync_file(part)
            previous = _keep_previous_store(target) if target_exists else None
            part.replace(target)
            sync_folder(target.parent)
    erasures_known = tombstones is not None and replaced is not None
    return RestoreResult(target, previous, owners, erased, erasures_known=erasures_known)


def _refuse_own_files(path: Path, store: Path) -> None:
    if path in (store, *(store.with_name(store.name + log) for log in _LOG_SUFFIXES)) or (
        path.exists() and path.samefile(store)
    ):
        raise Conflict("a backup cannot overwrite the store itself")


def refuse_to_overwrite(path: Path, *, overwrite: bool) -> None:
    """Refuse an existing path as the target of a backup.

    Raises:
        Conflict: The path exists, and is not a file or must not be overwritten.
    """
    if path.exists() and not (overwrite and path.is_file()):
        raise Conflict(f"the file already exists: {path}")


@contextmanager
def create_partial_file(path: Path) -> Iterator[Path]:
    """Create an empty private file beside `path`; delete it and its companions at the end."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        make_folder(path.parent)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}") from error
    finally:
        for leftover in part.parent.glob(f"{glob.escape(part.name)}*"):
            with suppress(OSError):
                leftover.unlink()


def put_in_place(part: Path, path: Path) -> int:
    """Rename a copy to its final name durably, without a write-ahead log; return its size."""
    with closing(Connection(part, 0)) as copy:
        copy.run("PRAGMA journal_mode = DELETE")
    sync_file(part)
    size = part.stat().st_size
    part.replace(path)
    sync_folder(path.parent)
    return size


@contextmanager
def _open_exclusively(target: Path, busy_timeout_s: float) -> Iterator[Tombstones | None]:
    """Lock a store exclusively and return its tombstones, or None if it is too corrupt.

    A connection in write-ahead mode holds a lock that prevents changing the journal mode.

    Raises:
        StoreUnavailable: The store is in use.
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
        if os.name == "nt":  # Windows cannot replace an open file
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
    """Return the cipher of the replaced store, or None if it cannot be determined."""
    try:
        info = read_cipher_info(target, busy_timeout_s)
        return ciphers.load(*info) if info else None
    except (StoreDamaged, KeyUnavailable):
        return None


def _keep_previous_store(target: Path) -> Path:
    """Link a store to a second name, so that another file can replace it; return that name."""
    number, previous = 1, target.with_name(f"{target.name}.before-restore")
    while previous.exists():
        number += 1
        previous = target.with_name(f"{target.name}.before-restore-{number}")
    try:
        os.link(target, previous)
    except OSError:  # the file system has no hard links
        shutil.copy2(target, previous)
    for log in _LOG_SUFFIXES:  # only left by a store that is too corrupt to open
        log_file = target.with_name(target.name + log)
        if log_file.exists():
            log_file.replace(previous.with_name(previous.name + log))
    return previous


def sync_file(path: Path) -> None:
    """Sync a file's content to disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
