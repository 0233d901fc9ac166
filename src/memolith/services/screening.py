"""What every text and name passes on its way in: cleaned, then without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.errors import InvalidInput
from memolith.policies import arguments
from memolith.text.cleaning import clean
from memolith.text.screening import contains_secrets, redact, redact_lines

if TYPE_CHECKING:
    from collections.abc import Iterable


def clean_and_redact(
    text: str, *, field: str = "content", limit: int | None = None, redact_whole_lines: bool = False
) -> tuple[str, int]:
    """Return a text as it may be kept and embedded, and how many secrets were taken out.

    Args:
        text: What a caller passed.
        field: The argument's name, for the error.
        limit: The most characters it may have.
        lines: Whether a line that holds a secret goes as a whole.

    Raises:
        InvalidInput: No text, nothing visible in it, or longer than the limit.
    """
    cleaned = clean(text, field=field, limit=limit)
    return redact_lines(cleaned) if redact_whole_lines else redact(cleaned)


def validate_name(value: object, field: str) -> str:
    """Return a memory's or a speaker's name, a session's or a caller's id.

    A name without its secret would be another name, so that it is refused. A number alone is an
    id, whatever its digits.

    Raises:
        InvalidInput: It is empty, too long, holds control characters, or a secret.
    """
    name = arguments.check_name(value, field)
    if not name.isdigit() and contains_secrets(name):
        raise InvalidInput(field, "holds a secret; names are kept and shown as they are")
    return name


def validate_tags(values: Iterable[object]) -> tuple[str, ...]:
    """Return tags sorted, each once.

    Raises:
        InvalidInput: There are too many, one is no name, or holds a secret.
    """
    return tuple(validate_name(tag, "tags") for tag in arguments.check_tags(values))
