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
class Chronicle:
    """A memory with all that has happened to it.

    Attributes:
        memory: As it is now.
        history: Its versions and events.
    """

    memory: Memory
    history: History


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a conversation."""

    session_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Document:
    """The base memory.

    Attributes:
        versions: What it said, and from when on, oldest first.
    """

    versions: tuple[tuple[str, datetime], ...]


Record: TypeAlias = Message | Chronicle | Ending | Document
"""One line of an export: a message as it was stored, a memory, the end of a session, the base
memory."""
