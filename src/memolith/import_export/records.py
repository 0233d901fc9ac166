"""What an export consists of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias, TypeVar

import msgspec

from memolith.domain.memories import History, Memory
from memolith.domain.messages import Message
from memolith.errors import InvalidInput
from memolith.text.screening import redact


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory with all that has happened to it.

    Attributes:
        memory: As it is now.
        history: Its versions and events.
    """

    memory: Memory
    history: History


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The end of a conversation."""

    session_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class BaseMemoryRecord:
    """The base memory.

    Attributes:
        versions: What it said, and from when on, oldest first.
    """

    versions: tuple[tuple[str, datetime], ...]


Record: TypeAlias = Message | MemoryRecord | SessionEnd | BaseMemoryRecord
"""One line of an export: a message as it was stored, a memory, the end of a session, the base
memory."""


# --- What the readers yield, and what they share


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation, or a stretch of it.

    Attributes:
        session_id: The conversation, by a name that is the same at every reading.
        messages: In order, each with an external id that is unique in the conversation.
    """

    session_id: str
    messages: tuple[Message, ...]


def convert_json(where: str, value: object, shape: type[T]) -> T:
    """Return parsed JSON as a value of that shape.

    Raises:
        InvalidInput: It is not of that shape; the field is `where`.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(where, describe_parse_error(error)) from None


def describe_parse_error(error: Exception) -> str:
    """Return what is wrong, in the parser's words, as part of a sentence."""
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8 text"
    message, _ = redact(str(error))  # a parser may repeat what it could not take
    is_word = message[1:2].islower()  # "JSON" stays as it is
    return message[:1].lower() + message[1:] if is_word else message


def parse_unix_time(seconds: float | None) -> datetime | None:
    """Return a Unix time as an instant; None for none, and for what is no time on Earth."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
