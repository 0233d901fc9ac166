"""The records of an export, and values shared by the readers of imports."""

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
    """A memory with its history.

    Attributes:
        memory: The current memory.
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
        versions: Content and start time of each version, oldest first.
    """

    versions: tuple[tuple[str, datetime], ...]


Record: TypeAlias = Message | MemoryRecord | SessionEnd | BaseMemoryRecord
"""One line of an export: a message, a memory, the end of a session or the base memory."""


# --- Imports


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation or a part of one.

    Attributes:
        session_id: The name of the conversation, stable across reads.
        messages: The messages in order. External ids are unique in the conversation.
    """

    session_id: str
    messages: tuple[Message, ...]


def convert_json(where: str, value: object, shape: type[T]) -> T:
    """Convert parsed JSON to a type.

    Raises:
        InvalidInput: The value has another type. The error's field is `where`.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidInput(where, describe_parse_error(error)) from None


def describe_parse_error(error: Exception) -> str:
    """Return the message of a parser as part of a sentence."""
    if isinstance(error, UnicodeDecodeError):
        return "is not UTF-8 text"
    message, _ = redact(str(error))  # parsers quote invalid input
    is_word = message[1:2].islower()  # keep "JSON" in upper case
    return message[:1].lower() + message[1:] if is_word else message


def parse_unix_time(seconds: float | None) -> datetime | None:
    """Return a Unix time as a datetime. None for None and for times out of range."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
