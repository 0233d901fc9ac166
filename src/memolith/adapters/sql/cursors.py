"""Where a page ended, as an opaque text."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from memolith.adapters.sql.sealing import Sealing

_TIME_BYTES = 8
_PLACE_BYTES = _TIME_BYTES + 16
_CHECK_BYTES = 8


def cursor_after(sealing: Sealing, created_at: int, packed_id: bytes) -> str:
    """Return a cursor for what comes after a memory."""
    return _cursor(sealing, created_at.to_bytes(_TIME_BYTES, "big", signed=True) + packed_id)


def place_of(sealing: Sealing, cursor: str) -> tuple[int, bytes]:
    """Return creation and packed id of the memory that a cursor stands after.

    Raises:
        InvalidInput: No page of this owner gave it.
    """
    try:
        raw = urlsafe_b64decode(cursor.encode())
    except ValueError:
        raise _refused() from None
    place = raw[:_PLACE_BYTES]
    if len(raw) != _PLACE_BYTES + _CHECK_BYTES or cursor != _cursor(sealing, place):
        raise _refused()
    created_at = int.from_bytes(place[:_TIME_BYTES], "big", signed=True)
    return created_at, place[_TIME_BYTES:]


def _cursor(sealing: Sealing, place: bytes) -> str:
    check = sealing.sign("cursor", place)[:_CHECK_BYTES]
    return urlsafe_b64encode(place + check).decode()


def _refused() -> InvalidInput:
    return InvalidInput("cursor", "not one that a page of this owner gave")
