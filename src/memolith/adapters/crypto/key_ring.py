"""Keys wrapped by the master key, each bound to what it is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from memolith.adapters.crypto import master_key
from memolith.adapters.crypto.ciphers import join_length_prefixed
from memolith.adapters.crypto.key_storage import (
    RECOVERY_HINT,
    FileKeyStorage,
    KeyRingStorage,
    KeyRingTransaction,
)
from memolith.adapters.crypto.master_key import (
    MODERATE_COST,
    KeyDerivation,
    KeyFile,
    MasterKeySource,
    Passphrase,
    ProvidedKey,
    format_key,
    read_key,
)
from memolith.adapters.crypto.primitives import (
    DecryptionFailed,
    decrypt,
    derive_subkey,
    encrypt,
    generate_key,
)
from memolith.adapters.files import sync_folder
from memolith.errors import KeyUnavailable, StoreReadOnly

_PURPOSE = "memolith-wrap"
_CHECK = b"memolith key ring"


def wrap_key(master: bytes, key: bytes, context: bytes) -> bytes:
    """Return a key wrapped by the master key."""
    return encrypt(derive_subkey(master, _PURPOSE), key, context)


def unwrap_key(master: bytes, encrypted: bytes, context: bytes) -> bytes:
    """Return the key that was wrapped.

    Raises:
        NotOpened: By another master key, or for something else.
    """
    return decrypt(derive_subkey(master, _PURPOSE), encrypted, context)


def create_check(master: bytes) -> bytes:
    """Return a value by which the master key can be known."""
    return wrap_key(master, _CHECK, _CHECK)


def matches_check(master: bytes, check: bytes) -> bool:
    """Return whether a value was made by this master key."""
    try:
        return unwrap_key(master, check, _CHECK) == _CHECK
    except DecryptionFailed:
        return False


def create_master_key(source: MasterKeySource, derivation: KeyDerivation) -> bytes:
    """Return the master key of a source: for a file, a new one."""
    if isinstance(source, KeyFile):
        return generate_key()
    return source.key if isinstance(source, ProvidedKey) else source.derive_key(derivation)


def store_context(store_id: bytes) -> bytes:
    """Return what a store's wrapped key is bound to."""
    return join_length_prefixed(b"store", store_id)


def owner_context(store_id: bytes, owner: bytes, version: int) -> bytes:
    """Return what an owner's wrapped key is bound to."""
    return join_length_prefixed(b"owner", store_id, owner, version.to_bytes(8, "big"))


def initialise_ring(
    ring: KeyRingTransaction, source: MasterKeySource, master: bytes, derivation: KeyDerivation
) -> None:
    """Store by what the master key is known, and how a passphrase becomes it."""
    rows = [("check", create_check(master))]
    if isinstance(source, Passphrase):
        rows += [
            ("salt", derivation.salt),
            ("operations", b"%d" % derivation.operations),
            ("memory", b"%d" % derivation.memory),
        ]
    ring.run("DELETE FROM ring")
    ring.run_many("INSERT INTO ring VALUES (?, ?)", rows)


def rewrap_keys(ring: KeyRingTransaction, old: bytes, new: bytes) -> None:
    """Wrap every key of the ring anew."""
    stores = ring.rows("SELECT store, wrapped FROM stores")
    ring.run_many(
        "UPDATE stores SET wrapped = ? WHERE store = ?",
        (
            (wrap_key(new, unwrap_key(old, sealed, place), place), store)
            for store, sealed in stores
            for place in [store_context(store)]
        ),
    )
    owners = ring.rows(
        "SELECT store, owner, version, wrapped FROM owners WHERE wrapped IS NOT NULL"
    )
    ring.run_many(
        "UPDATE owners SET wrapped = ? WHERE store = ? AND owner = ? AND version = ?",
        (
            (wrap_key(new, unwrap_key(old, sealed, place), place), store, owner, version)
            for store, owner, version, sealed in owners
            for place in [owner_context(store, owner, version)]
        ),
    )


# --- The key ring: every key but the master, wrapped by it, apart from the data


STORE_ID_BYTES = 16


def original_store_id(store_id: bytes) -> bytes:
    """Return the id of the store that the values of a store, or of what it was copied from, name.

    A copy has an id of its own, so that its keys can go without the other's. What was sealed is
    bound to the first one's, which is the end of the id.
    """
    return store_id[-STORE_ID_BYTES:]


@dataclass(frozen=True, slots=True, repr=False)
class KeyRingContents:
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
        self,
        storage: KeyRingStorage | Path,
        source: MasterKeySource,
        cost: tuple[int, int] = MODERATE_COST,
    ) -> None:
        """Take where the ring is, and where the master key comes from.

        Args:
            place: A path is that of a file.
            source: Where the master key comes from.
            cost: What making a key of a passphrase costs, when one is set: passes and bytes.
        """
        self.storage = FileKeyStorage(storage) if isinstance(storage, Path) else storage
        self.source = source
        self._cost = cost
        self._master: bytes | None = None

    def __repr__(self) -> str:
        """Say where it is."""
        return f"KeyRing({str(self.storage)!r}, {self.source!r})"

    @property
    def locations(self) -> str:
        """Where it is, and the master key where that is in a file."""
        key = f" and {self.source.path}" if isinstance(self.source, KeyFile) else ""
        return f"{self.storage}{key}"

    def add_store(self) -> tuple[bytes, bytes]:
        """Make a store's id and key; the ring and its master key are made where there is none.

        Raises:
            KeyUnavailable: The ring is there, and does not open.
        """
        store_id, key = generate_key()[:STORE_ID_BYTES], generate_key()
        self._add(store_id, key)
        return store_id, key

    def add_clone(self, store_id: bytes, key: bytes) -> bytes:
        """Keep a store's key for a copy of the store too, and return the copy's id.

        It is a new one, with that of the store that the values were sealed in at its end.

        Raises:
            KeyUnavailable: The ring is there, and does not open.
        """
        own = generate_key()[:STORE_ID_BYTES] + original_store_id(store_id)
        self._add(own, key)
        return own

    def _add(self, store_id: bytes, key: bytes) -> None:
        self.storage.create()
        with self._write() as ring:
            master = self._unlock(ring) if _read_check(ring) else self._initialise(ring)
            sealed = wrap_key(master, key, store_context(store_id))
            ring.run("INSERT INTO stores VALUES (?, ?)", (store_id, sealed))

    def get_store_key(self, store_id: bytes) -> bytes | None:
        """Return a store's key; None if the ring has none.

        Raises:
            KeyUnavailable: There is no ring, or it does not open.
        """
        with self._read() as ring:
            master = self._unlock(ring)
            row = ring.row("SELECT wrapped FROM stores WHERE store = ?", (store_id,))
            return self._unwrap(master, row[0], store_context(store_id)) if row else None

    def get_data_key(self, store_id: bytes, owner: bytes, version: int) -> bytes | None:
        """Return an owner's key of a version; None if the ring has none (any more)."""
        with self._read() as ring:
            master = self._unlock(ring)
            row = ring.row(
                "SELECT wrapped FROM owners WHERE store = ? AND owner = ? AND version = ?",
                (store_id, owner, version),
            )
            if not row or row[0] is None:
                return None
            return self._unwrap(master, row[0], owner_context(store_id, owner, version))

    def versions(self, store_id: bytes, owner: bytes) -> list[int]:
        """Return the versions of an owner's keys that there are, ascending."""
        with self._read() as ring:
            rows = ring.rows(
                "SELECT version FROM owners WHERE store = ? AND owner = ?"
                " AND wrapped IS NOT NULL ORDER BY version",
                (store_id, owner),
            )
            return [version for (version,) in rows]

    def ensure(self, store_id: bytes, owner: bytes) -> int:
        """Return the newest version of an owner's keys, making a key if there is none."""
        with self._write() as ring:
            row = ring.row(
                "SELECT max(version) FROM owners"
                " WHERE store = ? AND owner = ? AND wrapped IS NOT NULL",
                (store_id, owner),
            )
            if row and row[0] is not None:
                return int(row[0])
            return self._insert_owner_key(ring, store_id, owner)

    def add(self, store_id: bytes, owner: bytes) -> int:
        """Make a further key of an owner, and return its version."""
        with self._write() as ring:
            return self._insert_owner_key(ring, store_id, owner)

    def put(self, store_id: bytes, owner: bytes, keys: Mapping[int, bytes]) -> None:
        """Keep keys of an owner that were made for another store, by version."""
        with self._write() as ring:
            master = self._unlock(ring)
            ring.run_many(
                "INSERT INTO owners VALUES (?, ?, ?, ?)"
                " ON CONFLICT (store, owner, version) DO UPDATE SET wrapped = excluded.wrapped",
                [
                    (store_id, owner, version, wrap_key(master, key, place))
                    for version, key in keys.items()
                    for place in [owner_context(store_id, owner, version)]
                ],
            )

    def delete_keys_before(self, store_id: bytes, owner: bytes, version: int) -> None:
        """Remove the keys of an owner below a version for good."""
        with self._write() as ring:
            ring.run(
                "DELETE FROM owners WHERE store = ? AND owner = ? AND version < ?",
                (store_id, owner, version),
            )
        self.storage.compact()

    def erase(self, store_id: bytes, owner: bytes) -> None:
        """Remove all keys of an owner for good; later ones get higher versions."""
        with self._write() as ring:
            ring.run(
                "UPDATE owners SET wrapped = NULL WHERE store = ? AND owner = ?", (store_id, owner)
            )
        self.storage.compact()

    def is_erased(self, store_id: bytes, owner: bytes, version: int) -> bool:
        """Return whether an owner's key was removed by `erase`; False where it is only missing."""
        with self._read() as ring:
            row = ring.row(
                "SELECT wrapped FROM owners WHERE store = ? AND owner = ? AND version = ?",
                (store_id, owner, version),
            )
            return row is not None and row[0] is None

    def remove_store(self, store_id: bytes) -> None:
        """Remove a store's key, and the keys of all its owners, for good."""
        with self._write() as ring:
            ring.run("DELETE FROM owners WHERE store = ?", (store_id,))
            ring.run("DELETE FROM stores WHERE store = ?", (store_id,))
            # The next store then begins the ring anew: also where the master key is lost.
            ring.run("DELETE FROM ring WHERE NOT EXISTS (SELECT 1 FROM stores)")
        self.storage.compact()

    def rotate(self, new: MasterKeySource | None = None) -> None:
        """Wrap every key by a new master key.

        A key in a file is written beside it first, and takes its place afterwards: killed
        anywhere, one of the two files opens the ring, and whoever opens it next finishes.

        Args:
            new: The new key or passphrase, where it does not come from a file.

        Raises:
            KeyUnavailable: The ring does not open.
        """
        source = new or self.source
        with self._translate_os_errors(), self._write() as ring:
            old = self._unlock(ring)
            self._resolve_key_files(ring)
            stretching = KeyDerivation.with_random_salt(self._cost)
            key = create_master_key(source, stretching)
            if isinstance(source, KeyFile):
                master_key.replace_file(source.next_key_path, format_key(key))
            rewrap_keys(ring, old, key)
            initialise_ring(ring, source, key, stretching)
        self._master, self.source = key, source
        self._finish_rotation()
        self.storage.compact()

    def export_contents(self) -> tuple[bytes, KeyRingContents]:
        """Return the master key and all rows, for a backup."""
        with self._read() as ring:
            master = self._unlock(ring)
            return master, KeyRingContents(
                ring=ring.rows("SELECT name, value FROM ring"),
                stores=ring.rows("SELECT store, wrapped FROM stores"),
                owners=ring.rows("SELECT store, owner, version, wrapped FROM owners"),
            )

    def restore(self, contents: KeyRingContents) -> None:
        """Fill a ring that is not there yet.

        Raises:
            KeyUnavailable: There is one.
        """
        if self.storage.exists():
            raise KeyUnavailable(f"there is a key ring already: {self.storage}")
        self.storage.create()
        with self._write() as ring:
            ring.run_many("INSERT INTO ring VALUES (?, ?)", contents.ring)
            ring.run_many("INSERT INTO stores VALUES (?, ?)", contents.stores)
            ring.run_many("INSERT INTO owners VALUES (?, ?, ?, ?)", contents.owners)

    def _insert_owner_key(self, ring: KeyRingTransaction, store_id: bytes, owner: bytes) -> int:
        master = self._unlock(ring)
        (newest,) = ring.row(
            "SELECT coalesce(max(version), 0) FROM owners WHERE store = ? AND owner = ?",
            (store_id, owner),
        ) or (0,)
        version = int(newest) + 1
        sealed = wrap_key(master, generate_key(), owner_context(store_id, owner, version))
        ring.run("INSERT INTO owners VALUES (?, ?, ?, ?)", (store_id, owner, version, sealed))
        return version

    def _initialise(self, ring: KeyRingTransaction) -> bytes:
        """Begin an empty ring; the master key is taken as it is found, or made."""
        stretching = KeyDerivation.with_random_salt(self._cost)
        if isinstance(self.source, KeyFile):
            with master_key.translate_os_errors(self.source.path):
                self.source.create(generate_key())
            key = read_key(self.source.path)
        else:
            key = create_master_key(self.source, stretching)
        initialise_ring(ring, self.source, key, stretching)
        self._master = key
        return key

    def _unlock(self, ring: KeyRingTransaction) -> bytes:
        """Return the master key that opens the ring.

        Raises:
            KeyUnavailable: There is none, or it is another.
        """
        check = _read_check(ring)
        if check is None:
            raise KeyUnavailable(f"the key ring is empty: {self.storage}; {RECOVERY_HINT}")
        if self._master is not None and matches_check(self._master, check):
            return self._master
        for key in self._candidate_keys(ring):
            if matches_check(key, check):
                self._master = key
                return key
        raise KeyUnavailable(f"{self._wrong_key_message()}: {RECOVERY_HINT}")

    def _candidate_keys(self, ring: KeyRingTransaction) -> Iterator[bytes]:
        if isinstance(self.source, KeyFile):
            yield from self.source.keys()
        elif isinstance(self.source, ProvidedKey):
            yield self.source.key
        else:
            found: dict[str, bytes] = dict(ring.rows("SELECT name, value FROM ring"))
            if "salt" in found:
                yield self.source.derive_key(
                    KeyDerivation(found["salt"], int(found["operations"]), int(found["memory"]))
                )

    def _wrong_key_message(self) -> str:
        if not isinstance(self.source, KeyFile):
            return f"the key given does not open the key ring {self.storage}"
        if not self.source.path.exists():
            return f"the key file is missing: {self.source.path}"
        return f"the key in {self.source.path} does not open the key ring {self.storage}"

    def _resolve_key_files(self, ring: KeyRingTransaction) -> None:
        """Leave one key file: the one that opens the ring.

        The caller holds the ring's lock: nobody else is in the midst of a rotation.
        """
        source, check = self.source, _read_check(ring)
        if not isinstance(source, KeyFile) or not source.next_key_path.exists() or check is None:
            return
        if source.path.exists() and matches_check(read_key(source.path), check):
            source.next_key_path.unlink()  # of a rotation that was not committed
        elif matches_check(read_key(source.next_key_path), check):
            source.next_key_path.replace(source.path)
        sync_folder(source.path.parent)

    def _finish_rotation(self) -> None:
        with self._translate_os_errors(), self._write() as ring:
            self._unlock(ring)
            self._resolve_key_files(ring)

    def _unwrap(self, master: bytes, encrypted: bytes, context: bytes) -> bytes:
        try:
            return unwrap_key(master, encrypted, context)
        except DecryptionFailed:
            raise KeyUnavailable(
                f"the key ring is damaged: {self.storage}; {RECOVERY_HINT}"
            ) from None

    def close(self) -> None:
        """Let go of what is held open; the next use opens it again."""
        self.storage.close()

    @contextmanager
    def _read(self) -> Iterator[KeyRingTransaction]:
        self._require_exists()
        if isinstance(self.source, KeyFile) and self.source.next_key_path.exists():
            with suppress(StoreReadOnly):  # either file opens it until somebody can
                self._finish_rotation()
        with self.storage.read() as ring:
            yield ring

    @contextmanager
    def _write(self) -> Iterator[KeyRingTransaction]:
        self._require_exists()
        with self.storage.write() as ring:
            yield ring

    def _require_exists(self) -> None:
        if not self.storage.exists():
            raise KeyUnavailable(f"the key ring is missing: {self.storage}; {RECOVERY_HINT}")

    def _translate_os_errors(self) -> AbstractContextManager[None]:
        """Say what it means where the file of the master key can't be written."""
        source = self.source
        return (
            master_key.translate_os_errors(source.path)
            if isinstance(source, KeyFile)
            else nullcontext()
        )


def _read_check(ring: KeyRingTransaction) -> bytes | None:
    row = ring.row("SELECT value FROM ring WHERE name = 'check'")
    return row[0] if row else None
