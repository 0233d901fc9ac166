"""No encryption: values stand in the store as they are."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.crypto.joining import join_length_prefixed
from memolith.errors import KeyUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memolith.ports.cipher import Cipher, EncryptionContext

_DIGEST_BYTES = 16


class PlainOwnerCipher:
    """Seals nothing. Its digests are no secret: whoever guesses a text can check the guess."""

    __slots__ = ("_owner",)

    def __init__(self, owner_id: str) -> None:
        """Take whose digests it makes."""
        self._owner = owner_id.encode()

    def encrypt(self, plaintext: bytes, context: EncryptionContext) -> bytes:  # noqa: ARG002 - as the port has it
        """Return `plain` itself."""
        return plaintext

    def decrypt(self, ciphertext: bytes, context: EncryptionContext) -> bytes:  # noqa: ARG002 - as the port has it
        """Return `sealed` itself."""
        return ciphertext

    def digest(self, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes of BLAKE2b over owner, purpose and data, with lengths between."""
        named = join_length_prefixed(self._owner, purpose.encode()) + data
        return blake2b(named, digest_size=_DIGEST_BYTES).digest()

    def digest_term(self, term: str) -> bytes:
        """Return the term in UTF-8; every use of it names the owner beside it."""
        return term.encode()

    def encrypt_vectors(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return the vectors' own bytes."""
        return [vector.tobytes() for vector in vectors]

    def decrypt_vectors(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """Return the vectors, shape (n, dimension)."""
        return np.frombuffer(b"".join(stored), dtype=np.int8).reshape(len(stored), dimension)


class PlainCipher:
    """The cipher of a store that is not encrypted, new or known: there are no keys to tell."""

    name = "plain"
    store_id = b""
    key_check = b""

    def create(self) -> PlainCipher:
        """Return itself."""
        return self

    def clone(self, source: Cipher) -> PlainCipher:
        """Return itself, for a copy of a store that is not encrypted."""
        if source.name != self.name:
            raise KeyUnavailable(f"the store was made with the cipher {source.name!r}")
        return self

    def load(self, name: str, store_id: bytes, check: bytes) -> PlainCipher:
        """Return itself, for a store that is not encrypted."""
        del store_id, check
        if name != self.name:
            raise KeyUnavailable(f"the store was made with the cipher {name!r}, not {self.name!r}")
        return self

    def ensure_key_version(self, owner_id: str) -> int:
        """Return 0: there are no keys."""
        del owner_id
        return 0

    def get_owner_cipher(self, owner_id: str, version: int) -> PlainOwnerCipher:
        """See the port."""
        del version
        return PlainOwnerCipher(owner_id)

    def tombstone(self, owner_id: str) -> bytes:
        """See the port."""
        return PlainOwnerCipher(owner_id).digest("tombstone", b"")
