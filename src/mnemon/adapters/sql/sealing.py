"""One owner's texts, sealed and opened at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemon.ports.cipher import Place

if TYPE_CHECKING:
    from mnemon.ports.cipher import Cipher


class Sealing:
    """A cipher that knows whose texts it seals."""

    __slots__ = ("_cipher", "owner_id")

    def __init__(self, cipher: Cipher, owner_id: str) -> None:
        self._cipher = cipher
        self.owner_id = owner_id

    def seal(self, text: str, record: str, field: str, version: int = 1) -> bytes:
        """Return the sealed form of a text."""
        return self._cipher.seal(text.encode(), Place(self.owner_id, record, field, version))

    def open(self, sealed: bytes, record: str, field: str, version: int = 1) -> str:
        """Return the text that was sealed there."""
        return self._cipher.open(sealed, Place(self.owner_id, record, field, version)).decode()

    def digest(self, purpose: str, text: str) -> bytes:
        """Return 16 bytes by which the text can be found again."""
        return self._cipher.digest(self.owner_id, purpose, text.encode())

    def sign(self, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes that only this owner's data of this purpose has."""
        return self._cipher.digest(self.owner_id, purpose, data)

    def term(self, term: str) -> bytes:
        """Return what the index holds for a keyword."""
        return self._cipher.term(self.owner_id, term)
