"""The key ring: all keys except the master key, wrapped by the master key.

Every wrapped key is bound to its purpose, and the ring is stored apart from the data.
"""

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
    """Return a key, wrapped by the master key and bound to a context."""
    return encrypt(derive_subkey(master, _PURPOSE), key, context)


def unwrap_key(master: bytes, encrypted: bytes, context: bytes) -> bytes:
    """Return a wrapped key.

    Raises:
        DecryptionFailed: It was wrapped by another master key or for another context.
    """
    return decrypt(derive_subkey(master, _PURPOSE), encrypted, context)


def create_check(master: bytes) -> bytes:
    """Return a value that identifies the master key."""
    return wrap_key(master, _CHECK, _CHECK)


def matches_check(master: bytes, check: bytes) -> bool:
    """Return whether a check value was created with this master key."""
    try:
        return unwrap_key(master, check, _CHECK) == _CHECK
    except DecryptionFailed:
        return False


def create_master_key(source: MasterKeySource, derivation: KeyDerivation) -> bytes:
    """Return the master key of a source. For a key file, generate a new key."""
    if isinstance(source, KeyFile):
        return generate_key()
    return source.key if isinstance(source, ProvidedKey) else source.derive_key(derivation)


def store_context(store_id: bytes) -> bytes:
    """Return the context that a store's wrapped key is bound to."""
    return join_length_prefixed(b"store", store_id)


def owner_context(store_id: bytes, owner: bytes, version: int) -> bytes:
    """Return the context that an owner's wrapped key is bound to."""
    return join_length_prefixed(b"owner", store_id, owner, version.to_bytes(8, "big"))


def initialise_ring(
    ring: KeyRingTransaction, source: MasterKeySource, master: bytes, derivation: KeyDerivation
) -> None:
    """Store the check value of the master key and the parameters of its derivation."""
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
    """Wrap every key of the ring with a new master key."""
    stores = ring.rows("SELECT store, wrapped FROM stores")
    ring.run_many(
        "UPDATE stores SET wrapped = ? WHERE store = ?",
        (
            (wrap_key(new, unwrap_key(old, wrapped, context), context), store)
            for store, wrapped in stores
            for context in [store_context(store)]
        ),
    )
    owners = ring.rows(
        "SELECT store, owner, version, wrapped FROM owners WHERE wrapped IS NOT NULL"
    )
    ring.run_many(
        "UPDATE owners SET wrapped = ? WHERE store = ? AND owner = ? AND version = ?",
        (
            (wrap_key(new, unwrap_key(old, wrapped, context), context), store, owner, version)
            for store, owner, version, wrapped in owners
            for context in [owner_context(store, owner, version)]
        ),
    )


# --- Key ring


STORE_ID_BYTES = 16


def original_store_id(store_id: bytes) -> bytes:
    """Return the id of the original store, to which encrypted values are bound.

    A copy of a store has its own id, so that its keys can be deleted separately. That id ends
    with the id of the original store.
    """
    return store_id[-STORE_ID_BYTES:]


@dataclass(frozen=True, slots=True, repr=False)
class KeyRingContents:
    """All rows of a key ring, for a backup."""

    ring: list[tuple[str, bytes | int]]
    stores: list[tuple[bytes, bytes]]
    owners: list[tuple[bytes, bytes, int, bytes | None]]


class KeyRing:
    """The keys of stores and owners. Safe between threads and processes.

    The ring is opened or created on first use. Every call is one durable transaction.
    """

    def __init__(
        self,
        storage: KeyRingStorage | Path,
        source: MasterKeySource,
        cost: tuple[int, int] = MODERATE_COST,
    ) -> None:
        """Create a key ring.

        Args:
            storage: Where the ring is stored; a path means a file.
            source: Where the master key comes from.
            cost: Cost of deriving a key from a new passphrase: passes and bytes.
        """
        self.storage = FileKeyStorage(storage) if isinstance(storage, Path) else storage
        self.source = source
        self._cost = cost
        self._master: bytes | None = None

    def __repr__(self) -> str:
        """Return the storage and the key source, without key material."""
        return f"KeyRing({str(self.storage)!r}, {self.source!r})"

    @property
    def locations(self) -> str:
        """The location of the ring and, if the master key is in a file, of that file."""
        key = f" and {self.source.path}" if isinstance(self.source, KeyFile) else ""
        return f"{self.storage}{key}"

    def add_store(self) -> tuple[bytes, bytes]:
        """Create a store's id and key, and the ring and its master key if missing.

        Raises:
            KeyUnavailable: The ring exists and cannot be decrypted.
        """
        store_id, key = generate_key()[:STORE_ID_BYTES], generate_key()
        self._add(store_id, key)
        return store_id, key

    def add_clone(self, store_id: bytes, key: bytes) -> bytes:
        """Add a store's key for a copy of the store, and return the copy's id.

        The id is random and ends with the id of the original store.

        Raises:
            KeyUnavailable: The ring exists and cannot be decrypted.
        """
        clone_id = generate_key()[:STORE_ID_BYTES] + original_store_id(store_id)
        self._add(clone_id, key)
        return clone_id

    def _add(self, store_id: bytes, key: bytes) -> None:
        self.storage.create()
        with self._write() as ring:
            master = self._unlock(ring) if _read_check(ring) else self._initialise(ring)
            wrapped = wrap_key(master, key, store_context(store_id))
            ring.run("INSERT INTO stores VALUES (?, ?)", (store_id, wrapped))

    def get_store_key(self, store_id: bytes) -> bytes | None:
        """Return a store's key, or None if the ring does not contain it.

        Raises:
            KeyUnavailable: The ring is missing or cannot be decrypted.
        """
        with self._read() as ring:
            master = self._unlock(ring)
            row = ring.row("SELECT wrapped FROM stores WHERE store = ?", (store_id,))
            return self._unwrap(master, row[0], store_context(store_id)) if row else None

    def get_data_key(self, store_id: bytes, owner: bytes, version: int) -> bytes | None:
        """Return an owner's key of a version, or None if it is missing or erased."""
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
        """Return the versions of an owner's keys, ascending."""
        with self._read() as ring:
            rows = ring.rows(
                "SELECT version FROM owners WHERE store = ? AND owner = ?"
                " AND wrapped IS NOT NULL ORDER BY version",
                (store_id, owner),
            )
            return [version for (version,) in rows]

    def ensure(self, store_id: bytes, owner: bytes) -> int:
        """Return the newest version of an owner's keys; create a key if there is none."""
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
        """Create a new key for an owner, and return its version."""
        with self._write() as ring:
            return self._insert_owner_key(ring, store_id, owner)

    def put(self, store_id: bytes, owner: bytes, keys: Mapping[int, bytes]) -> None:
        """Store an owner's keys, by version, that were created for another store."""
        with self._write() as ring:
            master = self._unlock(ring)
            ring.run_many(
                "INSERT INTO owners VALUES (?, ?, ?, ?)"
                " ON CONFLICT (store, owner, version) DO UPDATE SET wrapped = excluded.wrapped",
                [
                    (store_id, owner, version, wrap_key(master, key, context))
                    for version, key in keys.items()
                    for context in [owner_context(store_id, owner, version)]
                ],
            )

    def delete_keys_before(self, store_id: bytes, owner: bytes, version: int) -> None:
        """Permanently delete an owner's keys below a version."""
        with self._write() as ring:
            ring.run(
                "DELETE FROM owners WHERE store = ? AND owner = ? AND version < ?",
                (store_id, owner, version),
            )
        self.storage.compact()

    def erase(self, store_id: bytes, owner: bytes) -> None:
        """Permanently delete all keys of an owner. Later keys get higher versions."""
        with self._write() as ring:
            ring.run(
                "UPDATE owners SET wrapped = NULL WHERE store = ? AND owner = ?", (store_id, owner)
            )
        self.storage.compact()

    def is_erased(self, store_id: bytes, owner: bytes, version: int) -> bool:
        """Return whether `erase` deleted an owner's key; False if the key is only missing."""
        with self._read() as ring:
            row = ring.row(
                "SELECT wrapped FROM owners WHERE store = ? AND owner = ? AND version = ?",
                (store_id, owner, version),
            )
            return row is not None and row[0] is None

    def remove_store(self, store_id: bytes) -> None:
        """Permanently delete a store's key and the keys of all its owners."""
        with self._write() as ring:
            ring.run("DELETE FROM owners WHERE store = ?", (store_id,))
            ring.run("DELETE FROM stores WHERE store = ?", (store_id,))
            # Reset an empty ring, so that a lost master key does not block new stores.
            ring.run("DELETE FROM ring WHERE NOT EXISTS (SELECT 1 FROM stores)")
        self.storage.compact()

    def rotate(self, new: MasterKeySource | None = None) -> None:
        """Wrap every key with a new master key.

        A new key file is written beside the current one and replaces it after the commit. After
        a crash, one of the two files matches the ring, and the next process finishes the rotation.

        Args:
            new: The new key or passphrase; None to generate a new key file.

        Raises:
            KeyUnavailable: The ring cannot be decrypted.
        """
        source = new or self.source
        with self._translate_os_errors(), self._write() as ring:
            old = self._unlock(ring)
            self._resolve_key_files(ring)
            derivation = KeyDerivation.with_random_salt(self._cost)
            key = create_master_key(source, derivation)
            if isinstance(source, KeyFile):
                master_key.replace_file(source.next_key_path, format_key(key))
            rewrap_keys(ring, old, key)
            initialise_ring(ring, source, key, derivation)
        self._master, self.source = key, source
        self._finish_rotation()
        self.storage.compact()

    def export_contents(self) -> tuple[bytes, KeyRingContents]:
        """Return the master key and all rows of the ring, for a backup."""
        with self._read() as ring:
            master = self._unlock(ring)
            return master, KeyRingContents(
                ring=ring.rows("SELECT name, value FROM ring"),
                stores=ring.rows("SELECT store, wrapped FROM stores"),
                owners=ring.rows("SELECT store, owner, version, wrapped FROM owners"),
            )

    def restore(self, contents: KeyRingContents) -> None:
        """Create the ring from a backup.

        Raises:
            KeyUnavailable: The ring exists.
        """
        if self.storage.exists():
            raise KeyUnavailable(f"the key ring already exists: {self.storage}")
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
        wrapped = wrap_key(master, generate_key(), owner_context(store_id, owner, version))
        ring.run("INSERT INTO owners VALUES (?, ?, ?, ?)", (store_id, owner, version, wrapped))
        return version

    def _initialise(self, ring: KeyRingTransaction) -> bytes:
        """Initialise an empty ring with the existing master key, or a new one."""
        derivation = KeyDerivation.with_random_salt(self._cost)
        if isinstance(self.source, KeyFile):
            with master_key.translate_os_errors(self.source.path):
                self.source.create(generate_key())
            key = read_key(self.source.path)
        else:
            key = create_master_key(self.source, derivation)
        initialise_ring(ring, self.source, key, derivation)
        self._master = key
        return key

    def _unlock(self, ring: KeyRingTransaction) -> bytes:
        """Return the master key that matches the ring.

        Raises:
            KeyUnavailable: The master key is missing or wrong.
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
            facts: dict[str, bytes] = dict(ring.rows("SELECT name, value FROM ring"))
            if "salt" in facts:
                yield self.source.derive_key(
                    KeyDerivation(facts["salt"], int(facts["operations"]), int(facts["memory"]))
                )

    def _wrong_key_message(self) -> str:
        if not isinstance(self.source, KeyFile):
            return f"the key does not match the key ring {self.storage}"
        if not self.source.path.exists():
            return f"the key file is missing: {self.source.path}"
        return f"the key in {self.source.path} does not match the key ring {self.storage}"

    def _resolve_key_files(self, ring: KeyRingTransaction) -> None:
        """Keep only the key file that matches the ring.

        The caller holds the write lock of the ring, so no rotation is in progress.
        """
        source, check = self.source, _read_check(ring)
        if not isinstance(source, KeyFile) or not source.next_key_path.exists() or check is None:
            return
        if source.path.exists() and matches_check(read_key(source.path), check):
            source.next_key_path.unlink()  # left by a rotation that was not committed
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
        """Close open connections. The next use opens them again."""
        self.storage.close()

    @contextmanager
    def _read(self) -> Iterator[KeyRingTransaction]:
        self._require_exists()
        if isinstance(self.source, KeyFile) and self.source.next_key_path.exists():
            with suppress(StoreReadOnly):  # readers try both files until a writer finishes
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
        """Translate system errors on the master key's file to Memolith errors."""
        source = self.source
        return (
            master_key.translate_os_errors(source.path)
            if isinstance(source, KeyFile)
            else nullcontext()
        )


def _read_check(ring: KeyRingTransaction) -> bytes | None:
    row = ring.row("SELECT value FROM ring WHERE name = 'check'")
    return row[0] if row else None
