"""Times as agents write them."""

from __future__ import annotations

from datetime import UTC, datetime

from memolith.errors import InvalidInput

_DATE_DIGITS = 8


def parse_instant(value: float | str | None, field: str) -> datetime | None:
    """Return the instant that a Unix time in seconds, or a text of ISO 8601, names.

    A text without a zone is UTC; one that is a number is a Unix time, unless it has the eight
    digits of a date.

    Raises:
        InvalidInput: It names none.
    """
    if value is None:
        return None
    try:
        return _parse_seconds(float(value)) if _is_number(value) else _parse_iso(str(value))
    except (ValueError, OverflowError, OSError) as error:
        problem = "must be Unix seconds, or ISO 8601 such as 2026-03-01T12:00:00Z"
        raise InvalidInput(field, problem) from error


def _is_number(value: float | str) -> bool:
    if not isinstance(value, str):
        return True
    if len(value.strip()) == _DATE_DIGITS:
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _parse_seconds(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _parse_iso(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip())
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
