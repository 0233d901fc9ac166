"""Owners: whose memory it is, and figures about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum


@dataclass(frozen=True, slots=True)
class Statistics:
    """How much an owner has stored.

    Attributes:
        total_count: Active memories.
        with_embeddings: Those of them that have a vector.
        avg_importance: Their mean importance, 0..1; 0.0 with none.
        by_kind: Active memories by kind.
        by_state: All memories by state.
        messages: Messages, without the forgotten ones.
        sessions: Conversations.
        vectors: Vectors of all of these.
        vectors_due: Vectors that what searches them, beside the store, does not have yet as they
            are; recall finds them all the same.
    """

    total_count: int = 0
    with_embeddings: int = 0
    avg_importance: float = 0.0
    by_kind: Mapping[str, int] = field(default_factory=dict)
    by_state: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0
    sessions: int = 0
    vectors: int = 0
    vectors_pending: int = 0


# --- What is still to be done with a model for an owner


class WorkKind(StrEnum):
    """Kinds of work that one process at a time does for an owner."""

    LEARN = "learn"
    CONSOLIDATE = "consolidate"


class ProcessingFlag(IntFlag):
    """How far a memory has come on its way into what is made of memories."""

    INCORPORATED = 1
    """A summary that the base memory has taken up."""


@dataclass(frozen=True, slots=True)
class ConsolidationProgress:
    """How far the history of a session was made shorter.

    Attributes:
        consolidated_to: The sequence number of the last message that was; 0: none.
        failures: How many attempts in a row have failed.
        at: When it last succeeded; None: never.
    """

    consolidated_to: int = 0
    failures: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PendingWork:
    """How much an owner has waiting.

    Attributes:
        waiting: Messages that a model is still to learn from, those to be tried again among them.
        parked: Messages that failed too often, and wait for a word.
        oldest: When the oldest of the waiting was stored; None: nothing waits.
        stuck: Kinds of work other than learning that failed too often.
    """

    pending_messages: int = 0
    dead_letters: int = 0
    oldest_at: datetime | None = None
    failed_kinds: tuple[WorkKind, ...] = ()
