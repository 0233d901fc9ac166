"""Encrypt stores with XChaCha20-Poly1305, with a separate key for each owner."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.crypto.ciphers import join_length_prefixed
from memolith.adapters.crypto.key_ring import KeyRing, original_store_id
from memolith.adapters.crypto.primitives import (
    DecryptionFailed,
    VectorTransform,
    decrypt,
    derive_subkey,
    encrypt,
    generate_key,
    keyed_digest,
)
from memolith.errors import KeyUnavailable, StoreDamaged
from memolith.ports.cipher import Cipher, EncryptionContext

NAME = "xchacha20-poly1305"

_DIGEST_BYTES = 16
_TERM_BYTES = 8
"""Two of n keywords of an owner share a digest with probability n²/2⁶⁵: 10⁻⁹ for 200,000."""

_CACHED_OWNERS = 1_024
"""Owners whose ciphers are cached, about 25 KB each. A guess."""

_VERSION_BYTES = 8

_log = logging.getLogger(__name__)


class XChaChaOwnerCipher:
    """The cipher of one owner and one key version."""

    __slots__ = ("_content", "_digests", "_store_id", "_terms", "_transforms", "_vectors")

    def __init__(self, store_id: bytes, data_key: bytes) -> None:
        """Derive the owner's keys from the data key."""
        self._store_id = original_store_id(store_id)
        self._content = derive_subkey(data_key, "memolith-content")
        self._digests = derive_subkey(data_key, "memolith-digest")
        self._terms = derive_subkey(data_key, "memolith-terms")
        self._vectors = derive_subkey(data_key, "memolith-vectors")
        self._transforms: dict[int, VectorTransform] = {}

    def __repr__(self) -> str:
        """Return a placeholder without key material."""
        return "XChaChaOwner(…)"

    def encrypt(self, plaintext: bytes, context: EncryptionContext) -> bytes:
        """See `OwnerCipher`."""
        return encrypt(self._content, plaintext, self._associated_data(context))

    def decrypt(self, ciphertext: bytes, context: EncryptionContext) -> bytes:
        """See `OwnerCipher`."""
        try:
            return decrypt(self._content, ciphertext, self._associated_data(context))
        except DecryptionFailed:
            raise StoreDamaged(
                f"the {context.field} of {context.record} cannot be decrypted: it was modified or"
                " moved, or encrypted with another key"
            ) from None

    def digest(self, purpose: str, data: bytes) -> bytes:
        """See `OwnerCipher`."""
        return keyed_digest(
            self._digests, join_length_prefixed(purpose.encode()) + data, _DIGEST_BYTES
        )

    def digest_term(self, term: str) -> bytes:
        """Return a keyed digest of 8 bytes."""
        return blake2b(term.encode(), key=self._terms, digest_size=_TERM_BYTES).digest()

    def encrypt_vectors(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return the transformed vectors; see `VectorTransform`."""
        transformed = self._transform(vectors.shape[1]).apply(vectors)
        return [row.tobytes() for row in transformed]

    def decrypt_vectors(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """See `OwnerCipher`."""
        transform = self._transform(dimension)
        if not stored:
            return np.empty((0, dimension), dtype=np.int8)
        if any(len(each) != transform.stored_bytes for each in stored):
            raise StoreDamaged("a stored vector has the wrong length")
        transformed = np.frombuffer(b"".join(stored), dtype="<i2")
        try:
            return transform.invert(transformed.reshape(len(stored), -1))
        except ValueError:
            raise StoreDamaged("a stored vector was modified or belongs to another owner") from None

    def _transform(self, dimension: int) -> VectorTransform:
        if dimension not in self._transforms:
            self._transforms[dimension] = VectorTransform(self._vectors, dimension)
        return self._transforms[dimension]

    def _associated_data(self, context: EncryptionContext) -> bytes:
        return join_length_prefixed(
            self._store_id,
            context.owner_id.encode(),
            context.record.encode(),
            context.field.encode(),
            context.version.to_bytes(_VERSION_BYTES, "big"),
        )


class XChaChaCipher:
    """The cipher of one store, whose keys are in a key ring."""

    name = NAME

    def __init__(self, ring: KeyRing, store_id: bytes, store_key: bytes) -> None:
        """Create the cipher of a store from the store's key."""
        self.store_id = store_id
        self.key_check = compute_check(store_id, store_key)
        self._store_key = store_key
        self._ring = ring
        self._names = derive_subkey(store_key, "memolith-owners")
        self._tombstones = derive_subkey(store_key, "memolith-erased")
        self._owners: OrderedDict[tuple[str, int], XChaChaOwnerCipher] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Return the store's id, without key material."""
        return f"XChaChaCipher(store {self.store_id.hex()})"

    def ensure_key_version(self, owner_id: str) -> int:
        """See `Cipher`."""
        return self._ring.ensure(self.store_id, self._digest_owner(owner_id))

    def get_owner_cipher(self, owner_id: str, version: int) -> XChaChaOwnerCipher:
        """See `Cipher`."""
        cache_key = (owner_id, version)
        with self._lock:
            if cache_key in self._owners:
                self._owners.move_to_end(cache_key)
                return self._owners[cache_key]
        if version == 0:
            return XChaChaOwnerCipher(self.store_id, generate_key())
        owner = XChaChaOwnerCipher(self.store_id, self.get_key(owner_id, version))
        with self._lock:
            self._owners[cache_key] = owner
            while len(self._owners) > _CACHED_OWNERS:
                self._owners.popitem(last=False)
        return owner

    def tombstone(self, owner_id: str) -> bytes:
        """See `Cipher`."""
        return keyed_digest(self._tombstones, owner_id.encode(), _DIGEST_BYTES)

    def key_versions(self, owner_id: str) -> list[int]:
        """See `SupportsKeyRotation`."""
        return self._ring.versions(self.store_id, self._digest_owner(owner_id))

    def add_key_version(self, owner_id: str) -> int:
        """See `SupportsKeyRotation`."""
        return self._ring.add(self.store_id, self._digest_owner(owner_id))

    def delete_keys_before(self, owner_id: str, version: int) -> None:
        """See `SupportsKeyRotation`."""
        self._ring.delete_keys_before(self.store_id, self._digest_owner(owner_id), version)
        self._drop_cached(owner_id, before=version)

    def erase(self, owner_id: str) -> None:
        """See `SupportsKeyRotation`. Other processes may cache the key until they exit."""
        self._ring.erase(self.store_id, self._digest_owner(owner_id))
        self._drop_cached(owner_id)

    def is_erased(self, owner_id: str, version: int) -> bool:
        """See `SupportsKeyRotation`."""
        return self._ring.is_erased(self.store_id, self._digest_owner(owner_id), version)

    def copy_keys(self, owner_id: str, source: Cipher) -> None:
        """See `SupportsKeyCopy`."""
        if not isinstance(source, XChaChaCipher):
            raise KeyUnavailable(f"keys of the cipher {source.name!r} cannot be copied")
        source_versions, own_versions = source.key_versions(owner_id), self.key_versions(owner_id)
        keys = {
            version: source.get_key(owner_id, version)
            for version in source_versions
            if version not in own_versions
        }
        if keys:
            self._ring.put(self.store_id, self._digest_owner(owner_id), keys)

    def get_key(self, owner_id: str, version: int) -> bytes:
        """Return an owner's key.

        Raises:
            KeyUnavailable: The ring has no key of this version.
        """
        key = self._ring.get_data_key(self.store_id, self._digest_owner(owner_id), version)
        if key is None:
            raise KeyUnavailable(
                f"the key ring {self._ring.storage} has no key for this owner: the owner was"
                " erased, or the ring is older than the store (restore a backup with"
                " `memolith key restore`)"
            )
        return key

    def clone(self, ring: KeyRing) -> XChaChaCipher:
        """Return the cipher of a copy of the store. It has no owner keys yet."""
        return XChaChaCipher(ring, ring.add_clone(self.store_id, self._store_key), self._store_key)

    def close(self) -> None:
        """Close the connections of the key ring. The next use opens them again."""
        self._ring.close()

    def delete_store_keys(self) -> None:
        """See `SupportsKeyRotation`."""
        self._ring.remove_store(self.store_id)
        with self._lock:
            self._owners.clear()

    def _drop_cached(self, owner_id: str, before: int | None = None) -> None:
        with self._lock:
            for owner, version in list(self._owners):
                if owner == owner_id and (before is None or version < before):
                    del self._owners[owner, version]

    def _digest_owner(self, owner_id: str) -> bytes:
        return keyed_digest(self._names, owner_id.encode(), _DIGEST_BYTES)


class KeyRingCiphers:
    """Provides ciphers whose keys are in a key ring."""

    def __init__(self, ring: KeyRing) -> None:
        """Use a key ring, which need not exist yet."""
        self.ring = ring

    def create(self) -> XChaChaCipher:
        """See `CipherProvider`; creates the ring and the master key if they are missing."""
        is_first = not self.ring.storage.exists()
        cipher = XChaChaCipher(self.ring, *self.ring.add_store())
        if is_first:
            _log.info(
                "this store is encrypted with the keys in %s: back them up separately"
                " (`memolith key backup FILE`); without them the data is lost",
                self.ring.locations,
            )
        return cipher

    def clone(self, source: Cipher) -> XChaChaCipher:
        """See `SupportsClone`."""
        if not isinstance(source, XChaChaCipher):
            raise KeyUnavailable(f"keys of the cipher {source.name!r} cannot be copied")
        return source.clone(self.ring)

    def load(self, name: str, store_id: bytes, check: bytes) -> XChaChaCipher:
        """See `CipherProvider`."""
        if name != NAME:
            raise KeyUnavailable(f"the store was created with the cipher {name!r}, not {NAME!r}")
        key = self.ring.get_store_key(store_id)
        if key is None or compute_check(store_id, key) != check:
            raise KeyUnavailable(
                f"the key ring {self.ring.storage} has no key for this store: open it with the ring"
                " it was created with (`memolith key restore FILE` restores a backup of it),"
                " or start over with `memolith reset`"
            )
        return XChaChaCipher(self.ring, store_id, key)


def compute_check(store_id: bytes, store_key: bytes) -> bytes:
    """Return the value by which a store verifies its key."""
    return keyed_digest(derive_subkey(store_key, "memolith-check"), store_id, _DIGEST_BYTES)
