"""No encryption: values stand in the store as they are."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemon.ports.cipher import Place

_DIGEST_BYTES = 16
_LENGTH_BYTES = 4


class PlainCipher:
    """Seals nothing. Its digests are no secret: whoever guesses a text can check the guess."""

    name = "plain"

    def seal(self, plain: bytes, place: Place) -> bytes:  # noqa: ARG002 - as the port has it
        """Return `plain` itself."""
        return plain

    def open(self, sealed: bytes, place: Place) -> bytes:  # noqa: ARG002 - as the port has it
        """Return `sealed` itself."""
        return sealed

    def digest(self, owner_id: str, purpose: str, data: bytes) -> bytes:
        """Return 16 bytes of BLAKE2b over owner, purpose and data, with lengths between."""
        named = _with_length(owner_id.encode()) + _with_length(purpose.encode()) + data
        return blake2b(named, digest_size=_DIGEST_BYTES).digest()

    def term(self, owner_id: str, term: str) -> bytes:  # noqa: ARG002 - as the port has it
        """Return the term in UTF-8; every use of it names the owner beside it."""
        return term.encode()


def _with_length(text: bytes) -> bytes:
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text
