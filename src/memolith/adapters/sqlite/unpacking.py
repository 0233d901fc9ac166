"""A backup that is on its way to be a store: a checked copy, up to date, without the erased."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.sql.erasing import erase_rows
from memolith.adapters.sql.moving import save_facts
from memolith.adapters.sqlite.connections import Connection
from memolith.adapters.sqlite.opening import prepare, read_cipher_info
from memolith.adapters.sqlite.reading import open_read_only
from memolith.adapters.sqlite.scrubbing import scrub
from memolith.errors import KeyUnavailable, NotFound, StoreDamaged
from memolith.ports.cipher import SupportsClone, SupportsKeyCopy, SupportsKeyRotation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from memolith.adapters.sqlite.opening import CipherInfo
    from memolith.ports.cipher import Cipher, CipherProvider

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
