"""Copying a store's file while it is in use, and putting a copy in its place."""

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
"""When an owner was erased of whom only the missing key says that they were."""

_INSERT_TOMBSTONE = "INSERT INTO tombstones VALUES (?, ?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class BackupKeys:
    """Where the key of a backup may be.

    Attributes:
        own: With those of the store that it becomes.
        others: With those of another, where not; they are then copied.
    """

    target: CipherProvider
    source: CipherProvider | None = None

    def find_cipher(self, cipher_info: CipherInfo) -> tuple[Cipher, bool]:
        """Return a backup's cipher, and whether its keys are with the store that it becomes.

        Raises:
            KeyUnavailable: They are nowhere.
        """
        try:
            return self.target.load(*cipher_info), True
        except KeyUnavailable:
            if self.source is None:
                raise
            return self.source.load(*cipher_info), False


@dataclass(frozen=True, slots=True)
class UnpackedBackup:
    """A backup that was copied and checked.

    Attributes:
        part: The copy.
        cipher: What it is sealed with.
        is_own: Whether the keys are with those of the store that it becomes.
        busy_timeout_s: For how long to wait for locks.
    """

    part: Path
    cipher: Cipher
    has_own_keys: bool
    busy_timeout_s: float

    def remove_erased(self, replaced_cipher: Cipher, tombstones: Tombstones) -> tuple[int, int]:
        """Take the owners out who were erased; return how many are left, and how many went.

        Args:
            replaced: The cipher of the store, which may be another, that is replaced.
            tombstones: Of that store.
        """
        cipher, gone = self.cipher, dict(tombstones)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            copy.begin_writing(self.busy_timeout_s)
            copy.run_many(_INSERT_TOMBSTONE, tombstones)
            owners = copy.rows("SELECT name, key_version FROM owners")
            buried = {
                name: gone[digest]
                for name, _ in owners
                if (digest := replaced_cipher.tombstone(name)) in gone
            }
            unkeyed = _find_keyless_owners(cipher, owners)
            for name in {**buried, **unkeyed}:
                erase_rows(copy, name)
            copy.run_many(
                _INSERT_TOMBSTONE,
                [
                    (cipher.tombstone(name), buried.get(name, _UNKNOWN_ERASURE_TIME))
                    for name in {**buried, **unkeyed}
                    if name in buried or not unkeyed[name]
                ],
            )
            copy.run("COMMIT")
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")
        erased = len({**buried, **unkeyed})
        if erased:
            self._scrub()
        if self.has_own_keys and isinstance(cipher, SupportsKeyRotation):
            for name in buried:
                cipher.erase(name)  # a key ring that was restored too may have it again
        return len(owners) - erased, erased

    def _scrub(self) -> None:
        scrub(self.part, self.busy_timeout_s)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def adopt_keys(self, ciphers: CipherProvider) -> Cipher:
        """Return the cipher of the store that it becomes, whose keys are where they belong.

        Args:
            ciphers: Those of that store. A backup whose keys are elsewhere becomes a copy, with an
                id of its own.

        Raises:
            KeyUnavailable: Of such keys there can't be two.
        """
        if self.has_own_keys:
            return self.cipher
        if not isinstance(ciphers, SupportsClone):
            raise KeyUnavailable("the keys of the backup can't be copied to those of the store")
        twin = ciphers.clone(self.cipher)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            if isinstance(twin, SupportsKeyCopy):
                for (name,) in copy.rows("SELECT name FROM owners"):
                    twin.copy_keys(name, self.cipher)
            copy.begin_writing(self.busy_timeout_s)
            save_facts(
                copy, {"store_id": twin.store_id or None, "key_check": twin.key_check or None}
            )
            copy.run("COMMIT")
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return twin


def unpack_backup(
    source: Path, part: Path, keys: BackupKeys, *, analyser: int, busy_timeout_s: float
) -> UnpackedBackup:
    """Copy a backup, see that nothing is wrong with it, and bring the copy up to date.

    Args:
        source: The backup.
        part: An empty file.
        keys: Where its key may be.
        analyser: See `SqliteStore.open`.
        busy_timeout_s: For how long to wait for locks.

    Raises:
        StoreDamaged: The backup is none, or is damaged.
        StoreTooNew: A newer Memolith wrote it.
        KeyUnavailable: There is no key to it.
        StoreUnavailable: The copy can't be written.
    """
    cipher, is_own = keys.find_cipher(read_backup_cipher_info(source, busy_timeout_s))
    _copy_and_check(source, part, busy_timeout_s)
    held = keys.target if is_own or keys.source is None else keys.source
    prepare(part, ciphers=held, analyser=analyser, busy_timeout_s=busy_timeout_s)
    return UnpackedBackup(part, cipher, is_own, busy_timeout_s)


def read_backup_cipher_info(source: Path, busy_timeout_s: float) -> CipherInfo:
    """Return what a backup says of its cipher.

    Raises:
        NotFound: There is no such file.
        StoreDamaged: It is no backup.
    """
    if not source.is_file():
        raise NotFound("backup", str(source))
    seal = read_cipher_info(source, busy_timeout_s)
    if seal is None:
        raise StoreDamaged(f"{source} is empty")
    return seal


def _copy_and_check(source: Path, part: Path, busy_timeout_s: float) -> None:
    """Copy a backup and see that SQLite finds nothing wrong with it."""
    with closing(open_read_only(source, busy_timeout_s)) as backup:
        backup.back_up(part)
    with closing(Connection(part, busy_timeout_s)) as copy:
        problems = copy.rows("PRAGMA integrity_check(1)")
        if problems != [("ok",)]:
            raise StoreDamaged(f"the backup {source} is damaged")
        copy.run("PRAGMA journal_mode = WAL")


def _find_keyless_owners(cipher: Cipher, owners: Iterable[tuple[str, int]]) -> dict[str, bool]:
    """Return the owners whose rows nothing opens, as they were erased; True: and came back.

    So an erased owner stays gone also where no store is left to say so.
    """
    if not isinstance(cipher, SupportsKeyRotation):
        return {}
    return {
        name: bool(cipher.key_versions(name))
        for name, version in owners
        if cipher.is_erased(name, version)
    }


# --- Copying a store's file while it is in use, and putting a copy in its place


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
