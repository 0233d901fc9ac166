"""A backup that is on its way to be a store: a checked copy, up to date, without the erased."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.sql.erasing import erase_rows
from memolith.adapters.sql.moving import keep_facts
from memolith.adapters.sqlite.connections import Connection
from memolith.adapters.sqlite.opening import prepare, read_seal
from memolith.adapters.sqlite.reading import open_to_read
from memolith.adapters.sqlite.scrubbing import scrub
from memolith.errors import KeyUnavailable, NotFound, StoreDamaged
from memolith.ports.cipher import KeyChanging, KeyCopying, Twinning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from memolith.adapters.sqlite.opening import Seal
    from memolith.ports.cipher import Cipher, Ciphers

    Tombstones = Sequence[tuple[bytes, int]]

_LONG_AGO = 0
"""When an owner was erased of whom only the missing key says that they were."""

_BURY = "INSERT INTO tombstones VALUES (?, ?) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the key of a backup may be.

    Attributes:
        own: With those of the store that it becomes.
        others: With those of another, where not; they are then copied.
    """

    own: Ciphers
    others: Ciphers | None = None

    def known(self, seal: Seal) -> tuple[Cipher, bool]:
        """Return a backup's cipher, and whether its keys are with the store that it becomes.

        Raises:
            KeyUnavailable: They are nowhere.
        """
        try:
            return self.own.known(*seal), True
        except KeyUnavailable:
            if self.others is None:
                raise
            return self.others.known(*seal), False


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A backup that was copied and checked.

    Attributes:
        part: The copy.
        cipher: What it is sealed with.
        is_own: Whether the keys are with those of the store that it becomes.
        busy_timeout_s: For how long to wait for locks.
    """

    part: Path
    cipher: Cipher
    is_own: bool
    busy_timeout_s: float

    def without_erased(self, replaced: Cipher, tombstones: Tombstones) -> tuple[int, int]:
        """Take the owners out who were erased; return how many are left, and how many went.

        Args:
            replaced: The cipher of the store, which may be another, that is replaced.
            tombstones: Of that store.
        """
        cipher, gone = self.cipher, dict(tombstones)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            copy.begin_writing(self.busy_timeout_s)
            copy.run_many(_BURY, tombstones)
            owners = copy.rows("SELECT name, key_version FROM owners")
            buried = {
                name: gone[digest]
                for name, _ in owners
                if (digest := replaced.tombstone(name)) in gone
            }
            unkeyed = _without_key(cipher, owners)
            for name in {**buried, **unkeyed}:
                erase_rows(copy, name)
            copy.run_many(
                _BURY,
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
            self._scrub()
        if self.is_own and isinstance(cipher, KeyChanging):
            for name in buried:
                cipher.erase(name)  # a key ring that was restored too may have it again
        return len(owners) - erased, erased

    def _scrub(self) -> None:
        scrub(self.part, self.busy_timeout_s)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def adopted(self, ciphers: Ciphers) -> Cipher:
        """Return the cipher of the store that it becomes, whose keys are where they belong.

        Args:
            ciphers: Those of that store. A backup whose keys are elsewhere becomes a copy, with an
                id of its own.

        Raises:
            KeyUnavailable: Of such keys there can't be two.
        """
        if self.is_own:
            return self.cipher
        if not isinstance(ciphers, Twinning):
            raise KeyUnavailable("the keys of the backup can't be copied to those of the store")
        twin = ciphers.twin(self.cipher)
        with closing(Connection(self.part, self.busy_timeout_s)) as copy:
            if isinstance(twin, KeyCopying):
                for (name,) in copy.rows("SELECT name FROM owners"):
                    twin.take_keys(name, self.cipher)
            copy.begin_writing(self.busy_timeout_s)
            keep_facts(copy, {"store_id": twin.store_id or None, "key_check": twin.check or None})
            copy.run("COMMIT")
            copy.run("PRAGMA wal_checkpoint(TRUNCATE)")
        return twin


def unpack(
    source: Path, part: Path, keys: Keys, *, analyser: int, busy_timeout_s: float
) -> Unpacked:
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
    cipher, is_own = keys.known(seal_of(source, busy_timeout_s))
    _copy_checked(source, part, busy_timeout_s)
    held = keys.own if is_own or keys.others is None else keys.others
    prepare(part, ciphers=held, analyser=analyser, busy_timeout_s=busy_timeout_s)
    return Unpacked(part, cipher, is_own, busy_timeout_s)


def seal_of(source: Path, busy_timeout_s: float) -> Seal:
    """Return what a backup says of its cipher.

    Raises:
        NotFound: There is no such file.
        StoreDamaged: It is no backup.
    """
    if not source.is_file():
        raise NotFound("backup", str(source))
    seal = read_seal(source, busy_timeout_s)
    if seal is None:
        raise StoreDamaged(f"{source} is empty")
    return seal


def _copy_checked(source: Path, part: Path, busy_timeout_s: float) -> None:
    """Copy a backup and see that SQLite finds nothing wrong with it."""
    with closing(open_to_read(source, busy_timeout_s)) as backup:
        backup.back_up(part)
    with closing(Connection(part, busy_timeout_s)) as copy:
        problems = copy.rows("PRAGMA integrity_check(1)")
        if problems != [("ok",)]:
            raise StoreDamaged(f"the backup {source} is damaged")
        copy.run("PRAGMA journal_mode = WAL")


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
