"""Items: what search sees of a memory's version or of a message, without its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum
from typing import Literal


class Trait(IntFlag):
    """What can be told of a text when it is written, so that ranking need not read it."""

    NONE = 0
    QUESTION = 1
    """Ends in a question mark."""
    TIME_EXPRESSION = 2
    """Says when: a date, a weekday, "yesterday", "last week", "in 2019", …"""
    FIRST_PERSON = 4
    """Uses I, my, we, …"""
    NUMBER = 8
    PLACE = 16
    """Names a place, or says where."""
    PROPER_NOUN = 32
    PREFERENCE = 64
    """A wish, a liking, or a standing instruction ("always use …")."""
    SUSPICIOUS = 128
    """Tries to instruct a model that reads it."""
    REVIEWED = 256
    """Somebody has looked at it, and let it be recalled."""


@dataclass(frozen=True, slots=True)
class Features:
    """What ranking needs to know of a text.

    Attributes:
        traits: The flags that hold of it.
        words: How many words.
        tokens: How many word pieces of the local embedder's tokenizer.
    """

    traits: Trait
    words: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text, in characters: `text[start:end]`."""

    start: int
    end: int

    def extract(self, text: str) -> str:
        """Return the stretch."""
        return text[self.start : self.end]


# --- Memories: remembered things, their versions, and what has happened to them


EPISODE = "episode"
"""What stands for the kind of a message where memories and messages are listed together."""


class State(StrEnum):
    """Where a memory is in its life. Only active ones are recalled."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    FADED = "faded"
    EVICTED = "evicted"
    FORGOTTEN = "forgotten"
    UNSUPPORTED = "unsupported"
    """A model took it from a conversation, and nothing said there supports it: never recalled,
    unless somebody approves it."""


DORMANT = frozenset({State.EXPIRED, State.FADED, State.EVICTED})
"""Went by themselves, and may come back when they are told again."""


class Origin(StrEnum):
    """Where a memory comes from; it decides how far it is trusted."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORT = "import"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Source:
    """What a memory was made from: a message, or another memory.

    Attributes:
        id: Its id.
        of: Which of the two it is.
        external_id: The caller's own id of the message, where one was given.
    """

    id: str
    record_type: Literal["message", "memory"] = "message"
    external_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered thing, at one version.

    Content is immutable: another content is another version under the same id.

    Attributes:
        id: UUIDv7.
        owner_id: Whose it is.
        kind: One of its profile's kinds.
        content: The text.
        created_at: When the first version was stored.
        updated_at: When this version was stored, or its state last changed.
        key: An optional name, unique among the owner's active memories.
        summary: A shorter wording, where there is one.
        tags: Words to filter by, sorted, without duplicates.
        importance: 0..1, as judged when it was stored.
        strength: 0..1, what is left of that now, by the profile's forgetting law.
        access_count: How often it was recalled.
        accessed_at: When last; None if never.
        happened_at: When it was true, or said, in the world.
        expires_at: When it ends by itself; None if never.
        state: Where it is in its life.
        superseded_by: The id of the memory that took its place.
        session_id: The conversation it was learned in.
        sources: What it was made from, oldest first.
        compressed: Whether a summary stands for it.
        origin: Where it comes from.
        version: From 1.
        kept_kind: The profile and kind that it had before its owner changed profiles, as
            "profile:kind"; None: it has always been of this one.
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
    """What an event says was done."""

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
    """One change of one memory or message: what, when, by whom and why.

    Attributes:
        record_id: The memory or message.
        action: What was done.
        at: When.
        by: Who asked for it ("user", "learn", "import", "scheduler", …).
        version: The record's version after it.
        details: Facts about it, never content (ids, counts, the old state).
    """

    record_id: str
    action: Action
    at: datetime
    actor: str
    version: int
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory, and when the store held it as true.

    Attributes:
        memory: As it stood in that version.
        valid_from: When it was stored.
        valid_to: When it was closed; None while it is open.
    """

    memory: Memory
    valid_from: datetime
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class History:
    """All that is known of how a memory came to be what it is, oldest first."""

    versions: tuple[Version, ...]
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two records of one owner: `source` is `relation` of `target`."""

    source_id: str
    target_id: str
    relation: Literal["near", "summary_of"]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of memories, newest first.

    Attributes:
        memories: At most as many as asked for.
        total: How many match in all.
        cursor: What to pass for the next page; None on the last.
    """

    memories: tuple[Memory, ...]
    total: int
    cursor: str | None


# --- The base memory: one living document of an owner, in versions


@dataclass(frozen=True, slots=True)
class BaseMemory:
    """What is known of an owner in one text, at one version.

    Attributes:
        content: The text.
        version: From 1.
        valid_from: From when it stood so.
        valid_to: Until when; None: it does.
        sources: What it was made from: summaries and facts, or messages.
    """

    content: str
    version: int
    valid_from: datetime
    valid_to: datetime | None = None
    sources: tuple[Source, ...] = ()
