"""One owner's texts, sealed and opened at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.damage import translate_decode_errors
from memolith.errors import StoreDamaged
from memolith.ports.cipher import EncryptionContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.ports.cipher import OwnerCipher


class OwnerEncryption:
    """An owner's cipher that knows whose texts it seals."""

    __slots__ = ("_cipher", "owner_id")

    def __init__(self, cipher: OwnerCipher, owner_id: str) -> None:
        self._cipher = cipher
        self.owner_id = owner_id

    def encrypt(self, text: str, record: str, field: str, version: int = 1) -> bytes:
        """Return the sealed form of a text."""
        return self._cipher.encrypt(
            text.encode(), EncryptionContext(self.owner_id, record, field, version)
        )

    @translate_decode_errors
    def decrypt(self, ciphertext: bytes, record: str, field: str, version: int = 1) -> str:
        """Return the text that was sealed there."""
        return self._cipher.decrypt(
            ciphertext, EncryptionContext(self.owner_id, record, field, version)
        ).decode()

    def can_decrypt(self, ciphertext: bytes, context: EncryptionContext) -> bool:
        """Return whether what was sealed there opens."""
        try:
            self._cipher.decrypt(ciphertext, context)
        except StoreDamaged:
            return False
        return True

    def digest(self, purpose: str, text: str) -> bytes:
        """Return 16 bytes by which the text can be found again."""
        return self._cipher.digest(purpose, text.encode())

    def sign(self, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes that only this owner's data of this purpose has."""
        return self._cipher.digest(purpose, data)

    def digest_term(self, term: str) -> bytes:
        """Return what the index holds for a keyword."""
        return self._cipher.digest_term(term)

    def encrypt_vectors(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return vectors, shape (n, d), as they are stored."""
        return self._cipher.encrypt_vectors(vectors)

    @translate_decode_errors
    def decrypt_vectors(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """Return stored vectors as they were, shape (n, dimension)."""
        return self._cipher.decrypt_vectors(stored, dimension)
