"""Keys wrapped by the master key, each bound to what it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.crypto.joining import join_length_prefixed
from memolith.adapters.crypto.master import KeyDerivation, KeyFile, Passphrase, ProvidedKey
from memolith.adapters.crypto.sealed import (
    DecryptionFailed,
    decrypt,
    derive_subkey,
    encrypt,
    generate_key,
)

if TYPE_CHECKING:
    from memolith.adapters.crypto.master import MasterKeySource
    from memolith.adapters.crypto.ring_places import KeyRingTransaction

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
