"""The key ring: every key but the master, wrapped by it, apart from the data.

In a file beside the master key, or in a schema of a database (`ring_places` has what it needs of
either). For each store it holds the store's key, and for each owner the data keys in force, by
version. An owner is named only by a digest under the store's
key. Keys of an owner who was erased are gone; that there were any stays, so that a restored
backup is told from a damaged store.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.crypto import files
from memolith.adapters.crypto.master import (
    MODERATE,
    GivenKey,
    KeyFile,
    Stretching,
    read_key,
    written,
)
from memolith.adapters.crypto.ring_file import RingFile
from memolith.adapters.crypto.ring_places import WAYS_OUT
from memolith.adapters.crypto.sealed import NotOpened, new_key
from memolith.adapters.crypto.wrapping import (
    begin,
    new_master,
    opens,
    owner_place,
    rewrap,
    store_place,
    unwrapped,
    wrapped,
)
from memolith.adapters.folders import sync_folder
from memolith.errors import KeyUnavailable, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from memolith.adapters.crypto.master import Source
    from memolith.adapters.crypto.ring_places import RingPlace, RingRows

STORE_ID_BYTES = 16


def origin(store_id: bytes) -> bytes:
    """Return the id of the store that the values of a store, or of what it was copied from, name.

    A copy has an id of its own, so that its keys can go without the other's. What was sealed is
    bound to the first one's, which is the end of the id.
    """
    return store_id[-STORE_ID_BYTES:]


@dataclass(frozen=True, slots=True, repr=False)
class Contents:
    """All rows of a ring, as a backup holds them."""

    ring: list[tuple[str, bytes | int]]
    stores: list[tuple[bytes, bytes]]
    owners: list[tuple[bytes, bytes, int, bytes | None]]


class KeyRing:
    """The keys of stores and owners. Thread-safe, and safe between processes.

    Nothing is opened or made before it is needed; every call is a transaction of its own, on the
    disk when it returns.
    """

    def __init__(
        self, place: RingPlace | Path, source: Source, cost: tuple[int, int] = MODERATE
    ) -> None:
        """Take where the ring is, and where the master key comes from.

        Args:
            place: A path is that of a file.
            source: Where the master key comes from.
            cost: What making a key of a passphrase costs, when one is set: passes and bytes.
        """
        self.place = RingFile(place) if isinstance(place, Path) else place
        self.source = source
        self._cost = cost
        self._master: bytes | None = None

    def __repr__(self) -> str:
        """Say where it is."""
        return f"KeyRing({str(self.place)!r}, {self.source!r})"

    @property
    def places(self) -> str:
        """Where it is, and the master key where that is in a file."""
        key = f" and {self.source.path}" if isinstance(self.source, KeyFile) else ""
        return f"{self.place}{key}"

    def add_store(self) -> tuple[bytes, bytes]:
        """Make a store's id and key; the ring and its master key are made where there is none.

        Raises:
            KeyUnavailable: The ring is there, and does not open.
        """
        store_id, key = new_key()[:STORE_ID_BYTES], new_key()
        self._add(store_id, key)
        return store_id, key

    def add_twin(self, store_id: bytes, key: bytes) -> bytes:
        """Keep a store's key for a copy of the store too, and return the copy's id.

        It is a new one, with that of the store that the values were sealed in at its end.

        Raises:
            KeyUnavailable: The ring is there, and does not open.
        """
        own = new_key()[:STORE_ID_BYTES] + origin(store_id)
        self._add(own, key)
        return own

    def _add(self, store_id: bytes, key: bytes) -> None:
        self.place.make()
        with self._writing() as ring:
            master = self._unlocked(ring) if _check(ring) else self._begun(ring)
            sealed = wrapped(master, key, store_place(store_id))
            ring.run("INSERT INTO stores VALUES (?, ?)", (store_id, sealed))

    def store_key(self, store_id: bytes) -> bytes | None:
        """Return a store's key; None if the ring has none.

        Raises:
            KeyUnavailable: There is no ring, or it does not open.
        """
        with self._reading() as ring:
            master = self._unlocked(ring)
            row = ring.row("SELECT wrapped FROM stores WHERE store = ?", (store_id,))
            return self._unwrapped(master, row[0], store_place(store_id)) if row else None

    def data_key(self, store_id: bytes, owner: bytes, version: int) -> bytes | None:
        """Return an owner's key of a version; None if the ring has none (any more)."""
        with self._reading() as ring:
            master = self._unlocked(ring)
            row = ring.row(
                "SELECT wrapped FROM owners WHERE store = ? AND owner = ? AND version = ?",
                (store_id, owner, version),
            )
            if not row or row[0] is None:
                return None
            return self._unwrapped(master, row[0], owner_place(store_id, owner, version))

    def versions(self, store_id: bytes, owner: bytes) -> list[int]:
        """Return the versions of an owner's keys that there are, ascending."""
        with self._reading() as ring:
            rows = ring.rows(
                "SELECT version FROM owners WHERE store = ? AND owner = ?"
                " AND wrapped IS NOT NULL ORDER BY version",
                (store_id, owner),
            )
            return [version for (version,) in rows]

    def ensure(self, store_id: bytes, owner: bytes) -> int:
        """Return the newest version of an owner's keys, making a key if there is none."""
        with self._writing() as ring:
            row = ring.row(
                "SELECT max(version) FROM owners"
                " WHERE store = ? AND owner = ? AND wrapped IS NOT NULL",
                (store_id, owner),
            )
            if row and row[0] is not None:
                return int(row[0])
            return self._added(ring, store_id, owner)

    def add(self, store_id: bytes, owner: bytes) -> int:
        """Make a further key of an owner, and return its version."""
        with self._writing() as ring:
            return self._added(ring, store_id, owner)

    def put(self, store_id: bytes, owner: bytes, keys: Mapping[int, bytes]) -> None:
        """Keep keys of an owner that were made for another store, by version."""
        with self._writing() as ring:
            master = self._unlocked(ring)
            ring.run_many(
                "INSERT INTO owners VALUES (?, ?, ?, ?)"
                " ON CONFLICT (store, owner, version) DO UPDATE SET wrapped = excluded.wrapped",
                [
                    (store_id, owner, version, wrapped(master, key, place))
                    for version, key in keys.items()
                    for place in [owner_place(store_id, owner, version)]
                ],
            )

    def drop_before(self, store_id: bytes, owner: bytes, version: int) -> None:
        """Remove the keys of an owner below a version for good."""
        with self._writing() as ring:
            ring.run(
                "DELETE FROM owners WHERE store = ? AND owner = ? AND version < ?",
                (store_id, owner, version),
            )
        self.place.settle()

    def erase(self, store_id: bytes, owner: bytes) -> None:
        """Remove all keys of an owner for good; later ones get higher versions."""
        with self._writing() as ring:
            ring.run(
                "UPDATE owners SET wrapped = NULL WHERE store = ? AND owner = ?", (store_id, owner)
            )
        self.place.settle()

    def is_erased(self, store_id: bytes, owner: bytes, version: int) -> bool:
        """Return whether an owner's key was removed by `erase`; False where it is only missing."""
        with self._reading() as ring:
            row = ring.row(
                "SELECT wrapped FROM owners WHERE store = ? AND owner = ? AND version = ?",
                (store_id, owner, version),
            )
            return row is not None and row[0] is None

    def remove_store(self, store_id: bytes) -> None:
        """Remove a store's key, and the keys of all its owners, for good."""
        with self._writing() as ring:
            ring.run("DELETE FROM owners WHERE store = ?", (store_id,))
            ring.run("DELETE FROM stores WHERE store = ?", (store_id,))
            # The next store then begins the ring anew: also where the master key is lost.
            ring.run("DELETE FROM ring WHERE NOT EXISTS (SELECT 1 FROM stores)")
        self.place.settle()

    def rotate(self, new: Source | None = None) -> None:
        """Wrap every key by a new master key.

        A key in a file is written beside it first, and takes its place afterwards: killed
        anywhere, one of the two files opens the ring, and whoever opens it next finishes.

        Args:
            new: The new key or passphrase, where it does not come from a file.

        Raises:
            KeyUnavailable: The ring does not open.
        """
        source = new or self.source
        with self._refusing(), self._writing() as ring:
            old = self._unlocked(ring)
            self._settle_files(ring)
            stretching = Stretching.drawn(self._cost)
            key = new_master(source, stretching)
            if isinstance(source, KeyFile):
                files.replace(source.successor, written(key))
            rewrap(ring, old, key)
            begin(ring, source, key, stretching)
        self._master, self.source = key, source
        self._finish_rotation()
        self.place.settle()

    def contents(self) -> tuple[bytes, Contents]:
        """Return the master key and all rows, for a backup."""
        with self._reading() as ring:
            master = self._unlocked(ring)
            return master, Contents(
                ring=ring.rows("SELECT name, value FROM ring"),
                stores=ring.rows("SELECT store, wrapped FROM stores"),
                owners=ring.rows("SELECT store, owner, version, wrapped FROM owners"),
            )

    def restore(self, contents: Contents) -> None:
        """Fill a ring that is not there yet.

        Raises:
            KeyUnavailable: There is one.
        """
        if self.place.exists():
            raise KeyUnavailable(f"there is a key ring already: {self.place}")
        self.place.make()
        with self._writing() as ring:
            ring.run_many("INSERT INTO ring VALUES (?, ?)", contents.ring)
            ring.run_many("INSERT INTO stores VALUES (?, ?)", contents.stores)
            ring.run_many("INSERT INTO owners VALUES (?, ?, ?, ?)", contents.owners)

    def _added(self, ring: RingRows, store_id: bytes, owner: bytes) -> int:
        master = self._unlocked(ring)
        (newest,) = ring.row(
            "SELECT coalesce(max(version), 0) FROM owners WHERE store = ? AND owner = ?",
            (store_id, owner),
        ) or (0,)
        version = int(newest) + 1
        sealed = wrapped(master, new_key(), owner_place(store_id, owner, version))
        ring.run("INSERT INTO owners VALUES (?, ?, ?, ?)", (store_id, owner, version, sealed))
        return version

    def _begun(self, ring: RingRows) -> bytes:
        """Begin an empty ring; the master key is taken as it is found, or made."""
        stretching = Stretching.drawn(self._cost)
        if isinstance(self.source, KeyFile):
            with files.refusing(self.source.path):
                self.source.create(new_key())
            key = read_key(self.source.path)
        else:
            key = new_master(self.source, stretching)
        begin(ring, self.source, key, stretching)
        self._master = key
        return key

    def _unlocked(self, ring: RingRows) -> bytes:
        """Return the master key that opens the ring.

        Raises:
            KeyUnavailable: There is none, or it is another.
        """
        check = _check(ring)
        if check is None:
            raise KeyUnavailable(f"the key ring is empty: {self.place}; {WAYS_OUT}")
        if self._master is not None and opens(self._master, check):
            return self._master
        for key in self._candidates(ring):
            if opens(key, check):
                self._master = key
                return key
        raise KeyUnavailable(f"{self._wrong()}: {WAYS_OUT}")

    def _candidates(self, ring: RingRows) -> Iterator[bytes]:
        if isinstance(self.source, KeyFile):
            yield from self.source.keys()
        elif isinstance(self.source, GivenKey):
            yield self.source.key
        else:
            found: dict[str, bytes] = dict(ring.rows("SELECT name, value FROM ring"))
            if "salt" in found:
                yield self.source.key(
                    Stretching(found["salt"], int(found["operations"]), int(found["memory"]))
                )

    def _wrong(self) -> str:
        if not isinstance(self.source, KeyFile):
            return f"the key given does not open the key ring {self.place}"
        if not self.source.path.exists():
            return f"the key file is missing: {self.source.path}"
        return f"the key in {self.source.path} does not open the key ring {self.place}"

    def _settle_files(self, ring: RingRows) -> None:
        """Leave one key file: the one that opens the ring.

        The caller holds the ring's lock: nobody else is in the midst of a rotation.
        """
        source, check = self.source, _check(ring)
        if not isinstance(source, KeyFile) or not source.successor.exists() or check is None:
            return
        if source.path.exists() and opens(read_key(source.path), check):
            source.successor.unlink()  # of a rotation that was not committed
        elif opens(read_key(source.successor), check):
            source.successor.replace(source.path)
        sync_folder(source.path.parent)

    def _finish_rotation(self) -> None:
        with self._refusing(), self._writing() as ring:
            self._unlocked(ring)
            self._settle_files(ring)

    def _unwrapped(self, master: bytes, sealed: bytes, place: bytes) -> bytes:
        try:
            return unwrapped(master, sealed, place)
        except NotOpened:
            raise KeyUnavailable(f"the key ring is damaged: {self.place}; {WAYS_OUT}") from None

    def close(self) -> None:
        """Let go of what is held open; the next use opens it again."""
        self.place.close()

    @contextmanager
    def _reading(self) -> Iterator[RingRows]:
        self._refuse_missing()
        if isinstance(self.source, KeyFile) and self.source.successor.exists():
            with suppress(StoreReadOnly):  # either file opens it until somebody can
                self._finish_rotation()
        with self.place.reading() as ring:
            yield ring

    @contextmanager
    def _writing(self) -> Iterator[RingRows]:
        self._refuse_missing()
        with self.place.writing() as ring:
            yield ring

    def _refuse_missing(self) -> None:
        if not self.place.exists():
            raise KeyUnavailable(f"the key ring is missing: {self.place}; {WAYS_OUT}")

    def _refusing(self) -> AbstractContextManager[None]:
        """Say what it means where the file of the master key can't be written."""
        source = self.source
        return files.refusing(source.path) if isinstance(source, KeyFile) else nullcontext()


def _check(ring: RingRows) -> bytes | None:
    row = ring.row("SELECT value FROM ring WHERE name = 'check'")
    return row[0] if row else None
