"""Where a page ended, as an opaque text."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from memolith.adapters.sql.sealing import OwnerEncryption

_TIME_BYTES = 8
_POSITION_BYTES = _TIME_BYTES + 16
_CHECK_BYTES = 8


def encode_cursor(encryption: OwnerEncryption, created_at: int, packed_id: bytes) -> str:
    """Return a cursor for what comes after a memory."""
    return _sign_cursor(
        encryption, created_at.to_bytes(_TIME_BYTES, "big", signed=True) + packed_id
    )


def decode_cursor(encryption: OwnerEncryption, cursor: str) -> tuple[int, bytes]:
    """Return creation and packed id of the memory that a cursor stands after.

    Raises:
        InvalidInput: No page of this owner gave it.
    """
    try:
        raw = urlsafe_b64decode(cursor.encode())
    except ValueError:
        raise _invalid_cursor() from None
    place = raw[:_POSITION_BYTES]
    if len(raw) != _POSITION_BYTES + _CHECK_BYTES or cursor != _sign_cursor(encryption, place):
        raise _invalid_cursor()
    created_at = int.from_bytes(place[:_TIME_BYTES], "big", signed=True)
    return created_at, place[_TIME_BYTES:]


def _sign_cursor(encryption: OwnerEncryption, position: bytes) -> str:
    check = encryption.sign("cursor", position)[:_CHECK_BYTES]
    return urlsafe_b64encode(position + check).decode()


def _invalid_cursor() -> InvalidInput:
    return InvalidInput("cursor", "not one that a page of this owner gave")
