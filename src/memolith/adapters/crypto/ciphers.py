"""Select the cipher of a store: encrypted or plain.

This module does not import libsodium, which an unencrypted store does not need.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memolith.errors import KeyUnavailable
from memolith.ports.cipher import Cipher, EncryptionContext

if TYPE_CHECKING:
    from memolith.adapters.crypto.key_ring import KeyRing
    from memolith.adapters.crypto.xchacha import KeyRingCiphers

_LENGTH_BYTES = 4


def join_length_prefixed(*parts: bytes) -> bytes:
    """Return the parts joined unambiguously, each preceded by its length."""
    return b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)


# --- No encryption


_DIGEST_BYTES = 16


class PlainOwnerCipher:
    """Stores values unencrypted. Its digests use no secret: anyone can verify a guessed text."""

    __slots__ = ("_owner",)

    def __init__(self, owner_id: str) -> None:
        """Create the plain cipher of an owner."""
        self._owner = owner_id.encode()

    def encrypt(self, plaintext: bytes, context: EncryptionContext) -> bytes:  # noqa: ARG002 - required by the port
        """Return the plaintext unchanged."""
        return plaintext

    def decrypt(self, ciphertext: bytes, context: EncryptionContext) -> bytes:  # noqa: ARG002 - required by the port
        """Return the ciphertext unchanged."""
        return ciphertext

    def digest(self, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes of BLAKE2b over the length-prefixed owner and purpose, and the data."""
        content = join_length_prefixed(self._owner, purpose.encode()) + data
        return blake2b(content, digest_size=_DIGEST_BYTES).digest()

    def digest_term(self, term: str) -> bytes:
        """Return the term in UTF-8. Rows of terms also contain the owner's number."""
        return term.encode()

    def encrypt_vectors(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return the vectors' own bytes."""
        return [vector.tobytes() for vector in vectors]

    def decrypt_vectors(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """Return the vectors, shape (n, dimension)."""
        return np.frombuffer(b"".join(stored), dtype=np.int8).reshape(len(stored), dimension)


class PlainCipher:
    """The cipher, and cipher provider, of unencrypted stores. It has no keys."""

    name = "plain"
    store_id = b""
    key_check = b""

    def create(self) -> PlainCipher:
        """Return itself."""
        return self

    def clone(self, source: Cipher) -> PlainCipher:
        """Return itself, for a copy of an unencrypted store."""
        if source.name != self.name:
            raise KeyUnavailable(f"the store was created with the cipher {source.name!r}")
        return self

    def load(self, name: str, store_id: bytes, check: bytes) -> PlainCipher:
        """Return itself, for an unencrypted store."""
        del store_id, check
        if name != self.name:
            raise KeyUnavailable(
                f"the store was created with the cipher {name!r}, not {self.name!r}"
            )
        return self

    def ensure_key_version(self, owner_id: str) -> int:
        """Return 0: there are no keys."""
        del owner_id
        return 0

    def get_owner_cipher(self, owner_id: str, version: int) -> PlainOwnerCipher:
        """See `Cipher`."""
        del version
        return PlainOwnerCipher(owner_id)

    def tombstone(self, owner_id: str) -> bytes:
        """See `Cipher`."""
        return PlainOwnerCipher(owner_id).digest("tombstone", b"")


# --- Ciphers by configuration


_log = logging.getLogger(__name__)


class ConfiguredCiphers:
    """Encrypts new stores if configured. Existing stores keep their cipher."""

    def __init__(self, ring: Callable[[], KeyRing], *, encrypt: bool) -> None:
        """Create a cipher provider.

        Args:
            ring: Returns the key ring. Called when a key is first needed.
            encrypt: Whether new stores are encrypted.
        """
        self._ring = ring
        self._encrypt = encrypt

    @cached_property
    def _key_ring_ciphers(self) -> KeyRingCiphers:
        # Imported here: an unencrypted store must not load libsodium.
        from memolith.adapters.crypto.xchacha import KeyRingCiphers

        return KeyRingCiphers(self._ring())

    def create(self) -> Cipher:
        """See `CipherProvider`."""
        return self._key_ring_ciphers.create() if self._encrypt else PlainCipher()

    def clone(self, source: Cipher) -> Cipher:
        """See `SupportsClone`."""
        return (
            PlainCipher()
            if source.name == PlainCipher.name
            else self._key_ring_ciphers.clone(source)
        )

    def close(self) -> None:
        """Close the connections of the key ring. The next use opens them again."""
        if "_key_ring_ciphers" in self.__dict__:
            self._key_ring_ciphers.ring.close()

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        """See `CipherProvider`."""
        is_plain = name == PlainCipher.name
        if is_plain and self._encrypt:
            # An attacker may have replaced an encrypted store by this one.
            _log.warning("this store is not encrypted; enable_encryption applies to new stores")
        elif not is_plain and not self._encrypt:
            _log.info("this store stays encrypted: enable_encryption applies to new stores")
        return PlainCipher() if is_plain else self._key_ring_ciphers.load(name, store_id, check)
