"""Ids: UUIDs of version 7 (RFC 9562, section 5.7), which sort by when they were made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from datetime import datetime

ENTROPY_BYTES = 10


def uuid7(now: datetime, entropy: bytes) -> str:
    """Return a UUIDv7 of that instant, to the millisecond, and these 10 random bytes."""
    milliseconds = int(now.timestamp() * 1000) & ((1 << 48) - 1)
    random = int.from_bytes(entropy[:ENTROPY_BYTES], "big")
    value = milliseconds << 80 | 0x7 << 76 | (random >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random & ((1 << 62) - 1)
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def parse_id(value: str, field: str = "id") -> str:
    """Return an id in its canonical form.

    Raises:
        InvalidInput: It is no UUID.
    """
    import uuid  # here: a recall reads no id that somebody wrote

    try:
        return str(uuid.UUID(value))
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInput(field, "is not an id: must be a UUID") from error
