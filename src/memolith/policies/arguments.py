"""Validate arguments of the public API; each function returns the normalised value or raises."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from memolith.errors import InvalidInput
from memolith.text.screening import redact

MAX_ID_CHARS = 256
MAX_MESSAGE_CHARS = 1_000_000
MAX_TAGS = 64
MAX_TOP_K = 100
DEFAULT_AUDIT_EXAMPLES = 5
"""Default number of examples per finding of an audit."""

LARGEST_COUNT = (1 << 63) - 1
"""The largest integer that SQLite stores."""

LONGEST_EXPIRY = timedelta(days=365)

_MAX_SHOWN_CHARS = 100
"""Maximum length of a value shown in an error. A guess."""

_MAX_SCANNED_CHARS = 20_000
"""Length that is scanned for secrets; multi-line keys have up to about 5,000 characters."""

_EXPIRES_IN = re.compile(r"([0-9]{1,9})([dhm])")
_EXPIRY_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_name(value: object, field: str) -> str:
    """Return the name of an owner, session, tag or memory: 1 to 256 characters.

    Raises:
        InvalidInput: It is empty, too long, or contains control characters or surrogates.
    """
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be text, not {type(value).__name__}")
    if not value.strip():
        raise InvalidInput(field, "is empty")
    if len(value) > MAX_ID_CHARS:
        raise InvalidInput(field, f"has {len(value)} characters; at most {MAX_ID_CHARS}")
    if not value.isprintable() and _CONTROL.search(value):
        raise InvalidInput(field, "contains control characters or lone surrogates")
    return value


def check_list(values: object, field: str) -> list[object]:
    """Return the items of an iterable as a list.

    Raises:
        InvalidInput: It is a string, or not iterable.
    """
    if isinstance(values, str):
        raise InvalidInput(field, "must be a list of texts, not one text")
    if not isinstance(values, Iterable):
        raise InvalidInput(field, f"must be a list, not {type(values).__name__}")
    return list(values)


def check_tags(values: Iterable[object]) -> tuple[str, ...]:
    """Return tags sorted, without duplicates.

    Raises:
        InvalidInput: There are more than 64, or one is invalid.
    """
    tags = tuple(sorted({check_name(value, "tags") for value in check_list(values, "tags")}))
    if len(tags) > MAX_TAGS:
        raise InvalidInput("tags", f"{len(tags)} tags; at most {MAX_TAGS}")
    return tags


def check_share(value: object, field: str) -> float:
    """Return a number from 0 to 1.

    Raises:
        InvalidInput: It is not a number, NaN, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(field, f"must be a number, not {type(value).__name__}")
    if not 0.0 <= value <= 1.0:  # NaN too
        raise InvalidInput(field, f"is {format_value(value)}; must be from 0 to 1")
    return float(value)


def check_count(value: object, field: str, *, minimum: int, maximum: int | None = None) -> int:
    """Return an integer of at least `minimum`; a value above `maximum` is clipped to it.

    Raises:
        InvalidInput: It is not an integer, or below `minimum`.
    """
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer and not (isinstance(value, float) and value.is_integer()):
        raise InvalidInput(field, f"is {format_value(value)}; must be a whole number")
    number: int = int(value)  # type: ignore[call-overload] # an int or a float
    if number < minimum:
        raise InvalidInput(field, f"is {format_value(number)}; must be at least {minimum}")
    return min(number, LARGEST_COUNT if maximum is None else maximum)


def check_instant(value: object, field: str) -> datetime:
    """Return an instant in UTC.

    Raises:
        InvalidInput: It is not a datetime, or has no time zone.
    """
    if not isinstance(value, datetime):
        raise InvalidInput(field, f"must be a datetime, not {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(field, "has no time zone")
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(field, "is out of range") from error


def parse_expires_in(value: object) -> timedelta | None:
    """Parse a duration such as "7d", "24h" or "30m"; None for "", the default of the kind.

    Durations over 365 days are clipped.

    Raises:
        InvalidInput: The text has another format, or the duration is zero.
    """
    if value == "":
        return None
    match = _EXPIRES_IN.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        raise InvalidInput("expires_in", f"is {format_value(value)}; must be like 7d, 24h or 30m")
    if int(match[1]) > LONGEST_EXPIRY / _EXPIRY_UNITS[match[2]]:
        return LONGEST_EXPIRY
    return int(match[1]) * _EXPIRY_UNITS[match[2]]


def format_value(value: object) -> str:
    """Return a value for an error message: secrets redacted, length limited.

    Python refuses to print the largest integers.
    """
    if isinstance(value, int) and abs(value) > LARGEST_COUNT:
        return "a huge number" if value > 0 else "a huge negative number"
    if isinstance(value, str):
        # The first cut bounds the scan; it may split a secret, but far beyond the second cut.
        plain = redact(value[:_MAX_SCANNED_CHARS])[0]
        return repr(plain if len(plain) <= _MAX_SHOWN_CHARS else f"{plain[:_MAX_SHOWN_CHARS]}…")
    return repr(value)


# --- Ids: UUIDs of version 7 (RFC 9562, section 5.7), which sort by creation time


ENTROPY_BYTES = 10


def uuid7(now: datetime, entropy: bytes) -> str:
    """Return a UUIDv7 from an instant, in milliseconds, and 10 random bytes."""
    milliseconds = int(now.timestamp() * 1000) & ((1 << 48) - 1)
    random = int.from_bytes(entropy[:ENTROPY_BYTES], "big")
    value = milliseconds << 80 | 0x7 << 76 | (random >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random & ((1 << 62) - 1)
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def parse_id(value: str, field: str = "id") -> str:
    """Return an id in canonical form.

    Raises:
        InvalidInput: It is not a UUID.
    """
    import uuid  # not needed for a recall

    try:
        return str(uuid.UUID(value))
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInput(field, "must be a UUID") from error
