"""Copying a store's file while it is in use, and putting a copy in its place."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mnemon.adapters.folders import make_folder, sync_folder
from mnemon.adapters.sql.erasing import erase_rows
from mnemon.adapters.sqlite.connections import Connection
from mnemon.adapters.sqlite.opening import prepare, read_seal
from mnemon.adapters.sqlite.reading import open_to_read
from mnemon.adapters.sqlite.scrubbing import scrub
from mnemon.errors import Conflict, KeyUnavailable, NotFound, StoreDamaged, StoreUnavailable
from mnemon.ports.backups import Restored
from mnemon.ports.cipher import KeyChanging

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mnemon.adapters.sqlite.connections import Connections
    from mnemon.ports.backups import Advance
    from mnemon.ports.cipher import Cipher, Ciphers

    Tombstones = Sequence[tuple[bytes, int]]

_LONG_AGO = 0
"""When an owner was erased of whom only the missing key says that they were."""

_LOGS = ("-wal", "-shm", "-journal")


class BackingUp:
    """The half of a SQLite store that copies it."""

    _connections: Connections

    def back_up(
        self, target: Path, *, overwrite: bool = False, advance: Advance | None = None
    ) -> int:
        """See the port."""
        path = Path(target).absolute()
        _refuse_to_overwrite(path, self._connections.path, overwrite=overwrite)
        with self._connections.reading() as reader, _unfinished(path) as part:
            reader.row("SELECT 1 FROM meta")  # from here on it sees one state, whoever writes
            reader.back_up(part, advance)
            _as_one_file(part)
            size = part.stat().st_size
            part.replace(path)
            sync_folder(path.parent)
        return size


def restore(
    source: Path,
    target: Path,
    ciphers: Ciphers,
    *,
    analyser: int = 1,
    force: bool = False,
    busy_timeout_s: float = 5.0,
) -> Restored:
    """Put a backup in a store's place; the store that was there is kept beside it.

    The backup is copied and checked first, brought up to date, and rid of the owners who were
    erased since; then it takes the store's place in one step.

    Args:
        source: The backup.
        target: The store's file; need not be there.
        ciphers: Gives the cipher of the backup, and of the store.
        analyser: See `SqliteStore.open`.
        force: Whether it may take the place of a store.
        busy_timeout_s: For how long to wait for others.

    Raises:
        NotFound: There is no such backup.
        Conflict: There is a store already.
        StoreDamaged: The backup is none, or is damaged.
        StoreTooNew: A newer Mnemon wrote it.
        KeyUnavailable: There is no key to it.
        StoreUnavailable: The store is open somewhere, or files can't be written.
    """
    source, target = Path(source).absolute(), Path(target).absolute()
    if not source.is_file():
        raise NotFound("backup", str(source))
    there = target.exists()
    if there and (not force or target.samefile(source)):
        raise Conflict(f"there is a store already: {target}")
    seal = read_seal(source, busy_timeout_s)
    if seal is None:
        raise StoreDamaged(f"{source} is empty")
    ciphers.known(*seal)
    with _unfinished(target) as part:
        _copy_checked(source, part, busy_timeout_s)
        cipher = prepare(part, ciphers=ciphers, analyser=analyser, busy_timeout_s=busy_timeout_s)
        replaced = _cipher_of(target, ciphers, busy_timeout_s) if there else cipher
        with _sole(target, busy_timeout_s) as tombstones:
            both = (cipher, replaced or cipher)
            owners, erased = _without_erased(part, both, tombstones or (), busy_timeout_s)
            sync(part)
            kept = _keep_beside(target) if there else None
            part.replace(target)
            sync_folder(target.parent)
    remembers = tombstones is not None and replaced is not None
    return Restored(target, kept, owners, erased, remembers_erased=remembers)


def _refuse_to_overwrite(path: Path, store: Path, *, overwrite: bool) -> None:
    if path in (store, *(store.with_name(store.name + log) for log in _LOGS)):
        raise Conflict("a backup can't take the place of the store itself")
    if path.exists() and (not overwrite or path.samefile(store) or not path.is_file()):
        raise Conflict(f"there is a file already: {path}")


@contextmanager
def _unfinished(path: Path) -> Iterator[Path]:
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


def _as_one_file(part: Path) -> None:
    """Turn a copy into a file that needs no log beside it, and see it on the disk."""
    with closing(Connection(part, 0)) as copy:
        copy.run("PRAGMA journal_mode = DELETE")
    sync(part)


def _copy_checked(source: Path, part: Path, busy_timeout_s: float) -> None:
    """Copy a backup and see that SQLite finds nothing wrong with it."""
    with closing(open_to_read(source, busy_timeout_s)) as backup:
        backup.back_up(part)
    with closing(Connection(part, busy_timeout_s)) as copy:
        problems = copy.rows("PRAGMA integrity_check(1)")
        if problems != [("ok",)]:
            raise StoreDamaged(f"the backup {source} is damaged")
        copy.run("PRAGMA journal_mode = WAL")


@contextmanager
def _sole(target: Path, busy_timeout_s: float) -> Iterator[Tombstones | None]:
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
        tombstones = _locked(connection, busy_timeout_s)
        if os.name == "nt":  # where an open file can't be moved
            connection.close()
        yield tombstones
    finally:
        connection.close()


def _locked(connection: Connection, busy_timeout_s: float) -> Tombstones | None:
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


def _cipher_of(target: Path, ciphers: Ciphers, busy_timeout_s: float) -> Cipher | None:
    """Return the cipher of the store that is replaced; None: nobody can tell."""
    try:
        seal = read_seal(target, busy_timeout_s)
        return ciphers.known(*seal) if seal else None
    except (StoreDamaged, KeyUnavailable):
        return None


def _without_erased(
    part: Path, both: tuple[Cipher, Cipher], tombstones: Tombstones, busy_timeout_s: float
) -> tuple[int, int]:
    """Take the owners out who were erased; return how many are left, and how many went.

    Args:
        part: The copy of the backup.
        both: The ciphers of the backup and of the store, which may be another, that is replaced.
        tombstones: Of that store.
        busy_timeout_s: For how long to wait for locks.
    """
    cipher, replaced = both
    gone = dict(tombstones)
    with closing(Connection(part, busy_timeout_s)) as copy:
        copy.begin_writing(busy_timeout_s)
        copy.run_many("INSERT INTO tombstones VALUES (?, ?) ON CONFLICT DO NOTHING", tombstones)
        owners = copy.rows("SELECT name, key_version FROM owners")
        buried = {
            name: gone[digest] for name, _ in owners if (digest := replaced.tombstone(name)) in gone
        }
        unkeyed = _without_key(cipher, owners)
        for name in {**buried, **unkeyed}:
            erase_rows(copy, name)
        copy.run_many(
            "INSERT INTO tombstones VALUES (?, ?) ON CONFLICT DO NOTHING",
            [
                (cipher.tombstone(name), buried.get(name, _LONG_AGO))
                for name in {**buried, **unkeyed}
                if name in buried or not unkeyed[name]
            ],
        )
        copy.run("COMMIT")
        copy.run("PRAGMA wal_checkpoint(TRUNCATE)")
    erased = len({**buried, **unkeyed})
    if erased:
        _scrubbed(part, busy_timeout_s)
    if isinstance(cipher, KeyChanging):
        for name in buried:
            cipher.erase(name)  # a key ring that was restored too may have it again
    return len(owners) - erased, erased


def _without_key(cipher: Cipher, owners: Iterable[tuple[str, int]]) -> dict[str, bool]:
    """Return the owners whose rows nothing opens, as they were erased; True: and came back.

    So an erased owner stays gone also where no store is left to say so.
    """
    if not isinstance(cipher, KeyChanging):
        return {}
    return {
        name: bool(cipher.versions(name))
        for name, version in owners
        if cipher.is_erased(name, version)
    }


def _scrubbed(part: Path, busy_timeout_s: float) -> None:
    scrub(part, busy_timeout_s)
    with closing(Connection(part, busy_timeout_s)) as copy:
        copy.run("PRAGMA wal_checkpoint(TRUNCATE)")


def _keep_beside(target: Path) -> Path:
    """Give a store a second name beside its own, which another file may then take."""
    number, kept = 1, target.with_name(f"{target.name}.before-restore")
    while kept.exists():
        number += 1
        kept = target.with_name(f"{target.name}.before-restore-{number}")
    try:
        os.link(target, kept)
    except OSError:  # a file system without links
        shutil.copy2(target, kept)
    for log in _LOGS:  # left only by a store too damaged to be opened
        beside = target.with_name(target.name + log)
        if beside.exists():
            beside.replace(kept.with_name(kept.name + log))
    return kept


def sync(path: Path) -> None:
    """See a file's content on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
