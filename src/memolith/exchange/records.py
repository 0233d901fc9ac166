"""What an export consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from memolith.domain.memories import Memory
from memolith.domain.messages import Message

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.domain.memories import History


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
