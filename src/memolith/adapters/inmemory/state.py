"""The state of one owner, in plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.codecs import NEVER, PENDING
from memolith.domain.memories import DORMANT, EPISODE, BaseMemory, Event, Features, Link, Memory
from memolith.domain.messages import Message, Role
from memolith.domain.owners import ConsolidationProgress, ProcessingFlag, WorkKind
from memolith.ports.service import ModelUsage
from memolith.ports.store import Passage


@dataclass(frozen=True, slots=True)
class Item:
    """The searchable fields of a version. Times in microseconds; `NEVER` for no end."""

    number: int
    record_id: str
    kind: str | None
    session: int
    sequence: int
    speaker: int
    role: Role
    at: int
    features: Features
    content_key: str
    valid_from: int
    valid_to: int
    expires_at: int
    compressed: bool
    tags: frozenset[str]
    passages: tuple[Passage, ...]

    @property
    def shown_kind(self) -> str:
        """The memory's kind, or "episode"."""
        return EPISODE if self.kind is None else self.kind

    def is_valid(self, as_of: int | None) -> bool:
        """Return whether the item is valid at an instant, or now for None."""
        if as_of is None:
            return self.valid_to == NEVER
        return self.valid_from <= as_of < self.valid_to


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A version of a memory: the record as it is, or as it was when the version was closed."""

    memory: Memory
    item: int


@dataclass(frozen=True, slots=True)
class MessageVersion:
    """A version of a message."""

    message: Message
    item: int


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session; it has no messages if only memories refer to it."""

    number: int
    first_item: int | None = None
    first_at: datetime | None = None
    last_at: datetime | None = None
    last_sequence: int = 0
    messages: int = 0
    ended_at: datetime | None = None
    progress: ConsolidationProgress = field(default_factory=ConsolidationProgress)


@dataclass(frozen=True, slots=True)
class MessageWork:
    """Pending work of a message; `marks` has the value of the database column."""

    marks: int = 0
    attempts: int = 0
    retry_at: datetime | None = None
    learned_at: datetime | None = None
    summarised_at: datetime | None = None


def is_pending(work: MessageWork, now: datetime) -> bool:
    """Return whether a message, if it is valid, is due for learning."""
    return work.marks == PENDING and (work.retry_at is None or work.retry_at <= now)


@dataclass(frozen=True, slots=True)
class ClaimState:
    """A lease of one kind of work; without an end, the work waits for an explicit retry."""

    token: bytes | None = None
    until: datetime | None = None
    attempts: int = 0

    @property
    def is_parked(self) -> bool:
        """Whether the work waits for an explicit retry."""
        return self.until is None

    def is_free(self, now: datetime) -> bool:
        """Return whether the work may be leased."""
        return self.until is not None and self.until <= now


@dataclass(slots=True)
class OwnerState:
    """All data of an owner. Values are frozen; `copy` returns an independent state."""

    counter: int = 0
    profile: str | None = None
    next_item: int = 1
    next_session: int = 1
    next_speaker: int = 1
    items: dict[int, Item] = field(default_factory=dict)
    memories: dict[str, tuple[MemoryVersion, ...]] = field(default_factory=dict)
    messages: dict[str, tuple[MessageVersion, ...]] = field(default_factory=dict)
    sessions: dict[str, SessionState] = field(default_factory=dict)
    participants: dict[tuple[str | None, Role], int] = field(default_factory=dict)
    links: dict[Link, None] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    base_memories: tuple[BaseMemory, ...] = ()
    work: dict[str, MessageWork] = field(default_factory=dict)
    marks: dict[str, ProcessingFlag] = field(default_factory=dict)
    claims: dict[WorkKind, ClaimState] = field(default_factory=dict)
    usage: dict[tuple[int, str], ModelUsage] = field(default_factory=dict)
    next_vectors: dict[tuple[int, int], NDArray[np.int8]] = field(default_factory=dict)
    """Vectors of the next model, by item and part, not in use yet."""

    def work_of(self, message_id: str) -> MessageWork:
        """Return a message's pending work."""
        return self.work.get(message_id, MessageWork())

    def is_dormant(self, item: Item) -> bool:
        """Return whether an item is the newest version of a dormant memory."""
        latest = self.memories.get(item.record_id, ())[-1:]
        return any(one.item == item.number and one.memory.state in DORMANT for one in latest)

    def copy(self) -> OwnerState:
        """Return an independent copy."""
        return replace(
            self,
            items=dict(self.items),
            memories=dict(self.memories),
            messages=dict(self.messages),
            sessions=dict(self.sessions),
            participants=dict(self.participants),
            links=dict(self.links),
            work=dict(self.work),
            marks=dict(self.marks),
            next_vectors=dict(self.next_vectors),
        )
