"""The common type of memories and messages."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, TypeAlias

from memolith.domain.memories import Memory
from memolith.domain.messages import Message

if TYPE_CHECKING:
    Record: TypeAlias = Memory | Message
else:  # msgspec cannot decode a union of two dataclasses: it needs one type and a hook

    class Record(ABC):  # noqa: B024 - its classes are registered
        """A stored memory or message."""

    Record.register(Memory)
    Record.register(Message)
