"""One owner's texts, sealed and opened at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.damage import decoding
from memolith.errors import StoreDamaged
from memolith.ports.cipher import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.ports.cipher import OwnerCipher


class Sealing:
    """An owner's cipher that knows whose texts it seals."""

    __slots__ = ("_cipher", "owner_id")

    def __init__(self, cipher: OwnerCipher, owner_id: str) -> None:
        self._cipher = cipher
        self.owner_id = owner_id

    def seal(self, text: str, record: str, field: str, version: int = 1) -> bytes:
        """Return the sealed form of a text."""
        return self._cipher.seal(text.encode(), Place(self.owner_id, record, field, version))

    @decoding
    def open(self, sealed: bytes, record: str, field: str, version: int = 1) -> str:
        """Return the text that was sealed there."""
        return self._cipher.open(sealed, Place(self.owner_id, record, field, version)).decode()

    def opens(self, sealed: bytes, place: Place) -> bool:
        """Return whether what was sealed there opens."""
        try:
            self._cipher.open(sealed, place)
        except StoreDamaged:
            return False
        return True

    def digest(self, purpose: str, text: str) -> bytes:
        """Return 16 bytes by which the text can be found again."""
        return self._cipher.digest(purpose, text.encode())

    def sign(self, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes that only this owner's data of this purpose has."""
        return self._cipher.digest(purpose, data)

    def term(self, term: str) -> bytes:
        """Return what the index holds for a keyword."""
        return self._cipher.term(term)

    def hide(self, vectors: NDArray[np.int8]) -> list[bytes]:
        """Return vectors, shape (n, d), as they are stored."""
        return self._cipher.hide(vectors)

    @decoding
    def show(self, stored: Sequence[bytes], dimension: int) -> NDArray[np.int8]:
        """Return stored vectors as they were, shape (n, dimension)."""
        return self._cipher.show(stored, dimension)
