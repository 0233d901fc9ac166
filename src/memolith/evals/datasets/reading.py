"""What the readers share: from a path to checked values, with errors that name the place."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from memolith.errors import InvalidInput
from memolith.evals.conversations import DialogueSession
from memolith.policies import arguments
from memolith.text.screening import redact

T = TypeVar("T")

DEFAULT_START = datetime(2000, 1, 1, tzinfo=UTC)
"""When a conversation is taken to have begun that gives no time at all. Arbitrary."""


def read_text(path: Path) -> str:
    """Return what a file says."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(str(path), (error.strerror or "can't be read").lower()) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), f"not UTF-8 at byte {error.start}") from error


def decode_json(where: str, text: str, shape: type[T]) -> T:
    """Return JSON as a value of that shape."""
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(where, redact(str(error))[0]) from None


def convert_value(where: str, value: object, shape: type[T]) -> T:
    """Return a decoded value as one of that shape."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(where, redact(str(error))[0]) from None


def check_unique_ids(
    where: str, sessions: tuple[DialogueSession, ...]
) -> tuple[DialogueSession, ...]:
    """Return the sessions, having made sure that no two messages share an id."""
    seen: set[str | None] = set()
    for message in (message for session in sessions for message in session.messages):
        if message.external_id in seen:
            raise InvalidInput(
                where, f"two messages have the id {arguments.format_value(message.external_id)}"
            )
        seen.add(message.external_id)
    return sessions


def get_external_ids(sessions: tuple[DialogueSession, ...]) -> frozenset[str]:
    """Return the external ids of all messages."""
    return frozenset(
        message.external_id
        for session in sessions
        for message in session.messages
        if message.external_id is not None
    )


def get_end_time(sessions: tuple[DialogueSession, ...]) -> datetime:
    """Return when the last message was said."""
    times = [m.at for session in sessions for m in session.messages if m.at is not None]
    return max(times, default=DEFAULT_START)
