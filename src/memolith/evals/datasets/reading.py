"""What the readers share: from a path to checked values, with errors that name the place."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from memolith.errors import InvalidInput
from memolith.evals.conversations import Dialogue
from memolith.policies import arguments
from memolith.text.screening import redact

T = TypeVar("T")

NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)
"""When a conversation is taken to have begun that gives no time at all. Arbitrary."""


def text_of(path: Path) -> str:
    """Return what a file says."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(str(path), (error.strerror or "can't be read").lower()) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(str(path), f"not UTF-8 at byte {error.start}") from error


def decoded(where: str, text: str, shape: type[T]) -> T:
    """Return JSON as a value of that shape."""
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInput(where, redact(str(error))[0]) from None


def converted(where: str, value: object, shape: type[T]) -> T:
    """Return a decoded value as one of that shape."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(where, redact(str(error))[0]) from None


def checked(where: str, sessions: tuple[Dialogue, ...]) -> tuple[Dialogue, ...]:
    """Return the sessions, having made sure that no two messages share an id."""
    seen: set[str | None] = set()
    for message in (message for session in sessions for message in session.messages):
        if message.external_id in seen:
            raise InvalidInput(
                where, f"two messages have the id {arguments.shown(message.external_id)}"
            )
        seen.add(message.external_id)
    return sessions


def known_ids(sessions: tuple[Dialogue, ...]) -> frozenset[str]:
    """Return the external ids of all messages."""
    return frozenset(
        message.external_id
        for session in sessions
        for message in session.messages
        if message.external_id is not None
    )


def end_of(sessions: tuple[Dialogue, ...]) -> datetime:
    """Return when the last message was said."""
    times = [m.at for session in sessions for m in session.messages if m.at is not None]
    return max(times, default=NO_TIME)
