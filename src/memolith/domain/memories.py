"""Memories: text features, versions, states, events and history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum
from typing import Literal


class Trait(IntFlag):
    """Properties of a text, detected when it is written so that ranking need not read it."""

    NONE = 0
    QUESTION = 1
    """Ends in a question mark."""
    TIME_EXPRESSION = 2
    """Contains a time expression: a date, a weekday, "yesterday", "last week", "in 2019", …"""
    FIRST_PERSON = 4
    """Uses I, my, we, …"""
    NUMBER = 8
    PLACE = 16
    """Names a place or a location."""
    PROPER_NOUN = 32
    PREFERENCE = 64
    """A wish, a preference or a standing instruction ("always use …")."""
    SUSPICIOUS = 128
    """Suspected prompt injection."""
    REVIEWED = 256
    """Reviewed by a person and approved for recall."""


@dataclass(frozen=True, slots=True)
class Features:
    """Properties of a text that ranking uses.

    Attributes:
        traits: The flags of the text.
        words: Number of words.
        tokens: Number of word pieces, by the local embedder's tokenizer.
    """

    traits: Trait
    words: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters of a text: `text[start:end]`."""

    start: int
    end: int

    def extract(self, text: str) -> str:
        """Return the text in the range."""
        return text[self.start : self.end]


# --- Memories


EPISODE = "episode"
"""The kind of messages in lists of memories and messages."""


class State(StrEnum):
    """Lifecycle state of a memory. Only active memories are recalled."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    FADED = "faded"
    EVICTED = "evicted"
    FORGOTTEN = "forgotten"
    UNSUPPORTED = "unsupported"
    """Quarantined: a model extracted it, but the conversation does not support it. Not recalled
    until somebody approves it."""


DORMANT = frozenset({State.EXPIRED, State.FADED, State.EVICTED})
"""States that a memory enters automatically, and leaves when it is stated again."""


class Origin(StrEnum):
    """Source of a memory, which determines how far it is trusted."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORT = "import"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Source:
    """The message or memory that a memory was derived from.

    Attributes:
        id: The id of the record.
        record_type: The type of the record.
        external_id: The caller's own id of the message, if given.
    """

    id: str
    record_type: Literal["message", "memory"] = "message"
    external_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered thing, at one version.

    Memories are immutable: changing the content creates a new version with the same id.

    Attributes:
        id: UUIDv7.
        owner_id: The id of its owner.
        kind: One of the kinds of the owner's profile.
        content: The text.
        created_at: When the first version was stored.
        updated_at: When this version was stored, or its state last changed.
        key: An optional name, unique among the owner's active memories.
        summary: A shorter wording, if there is one.
        tags: Words to filter by, sorted, without duplicates.
        importance: 0..1, as judged when it was stored.
        strength: 0..1, the current strength, computed by the profile's forgetting law.
        access_count: How often it was recalled.
        accessed_at: When it was last recalled; None if never.
        happened_at: When the event happened, or the fact was said.
        expires_at: When it expires; None if never.
        state: Its lifecycle state.
        superseded_by: The id of the memory that superseded it.
        session_id: The session it was learned from.
        sources: The records it was derived from, oldest first.
        compressed: Whether a summary replaces it in recall.
        origin: Its source.
        version: Counts from 1.
        previous_kind: Its profile and kind before the owner changed profiles, as "profile:kind";
            None if the profile never changed.
    """

    id: str
    owner_id: str
    kind: str
    content: str
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    summary: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    strength: float = 0.5
    access_count: int = 0
    accessed_at: datetime | None = None
    happened_at: datetime | None = None
    expires_at: datetime | None = None
    state: State = State.ACTIVE
    superseded_by: str | None = None
    session_id: str | None = None
    sources: tuple[Source, ...] = ()
    compressed: bool = False
    origin: Origin = Origin.USER
    version: int = 1
    previous_kind: str | None = None


class Action(StrEnum):
    """The type of change that an event records."""

    REMEMBERED = "remembered"
    RESTATED = "restated"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"
    RESTORED = "restored"
    EXPIRED = "expired"
    FADED = "faded"
    EVICTED = "evicted"
    APPROVED = "approved"
    DOUBTED = "doubted"
    CONDENSED = "condensed"
    UNDONE = "undone"
    PURGED = "purged"


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one memory or message.

    Attributes:
        record_id: The memory or message.
        action: The type of change.
        at: When it happened.
        actor: The origin of the change ("user", "learn", "import", "scheduler", …).
        version: The version of the record after the change.
        details: Facts about the change, never content (ids, counts, the previous state).
    """

    record_id: str
    action: Action
    at: datetime
    actor: str
    version: int
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory and its period of validity.

    Attributes:
        memory: The memory at that version.
        valid_from: When the version was stored.
        valid_to: When the version was replaced or ended; None while it is current.
    """

    memory: Memory
    valid_from: datetime
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class History:
    """All versions and events of a memory, oldest first."""

    versions: tuple[Version, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two records of one owner: `source_id` is `relation` of `target_id`."""

    source_id: str
    target_id: str
    relation: Literal["near", "summary_of"]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of memories, newest first.

    Attributes:
        memories: The memories of this page, at most as many as requested.
        total: Number of matches on all pages.
        cursor: The cursor of the next page; None on the last page.
    """

    memories: tuple[Memory, ...]
    total: int
    cursor: str | None


# --- Base memory


@dataclass(frozen=True, slots=True)
class BaseMemory:
    """One version of an owner's base memory: a single text with all essential knowledge.

    Attributes:
        content: The text.
        version: Counts from 1.
        valid_from: Start of validity.
        valid_to: End of validity; None for the current version.
        sources: The summaries, facts or messages it was derived from.
    """

    content: str
    version: int
    valid_from: datetime
    valid_to: datetime | None = None
    sources: tuple[Source, ...] = ()
