"""Times and ids as columns hold them: microseconds since 1970, and 16 bytes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from memolith.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000
_SECONDS_PER_DAY = 86_400
_ID_BYTES = 16

NEVER = int(np.iinfo(np.int64).max)
"""The end, in microseconds, of what has no end."""


def micros(at: datetime) -> int:
    """Return microseconds since 1970, exactly."""
    since = at - _EPOCH
    return (since.days * _SECONDS_PER_DAY + since.seconds) * _MICROSECONDS + since.microseconds


def instant(microseconds: int) -> datetime:
    """Return the time in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def micros_or_none(at: datetime | None) -> int | None:
    """Return microseconds since 1970; None stays None."""
    return None if at is None else micros(at)


def instant_or_none(microseconds: int | None) -> datetime | None:
    """Return the time in UTC; None stays None."""
    return None if microseconds is None else instant(microseconds)


def unpack_id(packed: bytes) -> str:
    """Return a UUID in its usual form."""
    digits = packed.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def pack_id_or_none(text: str) -> bytes | None:
    """Return the 16 bytes of a UUID in its usual form; None for any other text."""
    try:
        packed = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        return None
    return packed if len(packed) == _ID_BYTES and unpack_id(packed) == text else None


def pack_id(text: str, field: str = "id") -> bytes:
    """Return the 16 bytes of a UUID.

    Raises:
        InvalidInput: It is not a UUID in its usual form (lower case, with dashes).
    """
    packed = pack_id_or_none(text)
    if packed is None:
        raise InvalidInput(field, "not a UUID in lower case with dashes")
    return packed


def pack_valid_ids(texts: Sequence[str]) -> tuple[bytes, ...]:
    """Return the 16 bytes of each UUID; what is none is left out."""
    return tuple(packed for packed in map(pack_id_or_none, texts) if packed is not None)


_DASH = 32
"""The column, after those of the 32 digits, that holds a dash."""

_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
_DIGIT_POSITIONS = np.array([place for group in _GROUPS for place in (*range(*group), _DASH)][:-1])


def unpack_ids(packed: NDArray[np.uint8]) -> list[str]:
    """Return UUIDs of shape (n, 16) in their usual form."""
    letters = np.full((len(packed), _DASH + 1), ord("-"), dtype=np.uint8)
    digits = np.frombuffer(packed.tobytes().hex().encode(), dtype=np.uint8)
    letters[:, :_DASH] = digits.reshape(len(packed), _DASH)
    text = letters.take(_DIGIT_POSITIONS, axis=1).tobytes().decode("ascii")
    return [text[start : start + 36] for start in range(0, len(text), 36)]
