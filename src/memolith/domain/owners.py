"""Owners: statistics and pending background work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of an owner's stored records.

    Attributes:
        total_count: Active memories.
        with_embeddings: Active memories that have a vector.
        avg_importance: Mean importance of active memories, 0..1; 0.0 without memories.
        by_kind: Active memories by kind.
        by_state: All memories by state.
        messages: Messages, without forgotten ones.
        sessions: Conversations.
        vectors: Vectors of all records.
        vectors_pending: Vectors not yet copied to the external vector search. Recall finds them
            anyway.
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


# --- Pending work


class WorkKind(StrEnum):
    """Kinds of background work. For each owner, one process at a time does each kind."""

    LEARN = "learn"
    CONSOLIDATE = "consolidate"


class ProcessingFlag(IntFlag):
    """Processing state of a memory."""

    INCORPORATED = 1
    """A summary that is part of the base memory."""


@dataclass(frozen=True, slots=True)
class ConsolidationProgress:
    """How much of a session's history is consolidated.

    Attributes:
        consolidated_to: The sequence number of the last consolidated message; 0 if none.
        failures: Number of consecutive failures.
        at: When consolidation last succeeded; None if never.
    """

    consolidated_to: int = 0
    failures: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PendingWork:
    """Counts of an owner's pending work.

    Attributes:
        pending_messages: Messages that a model has yet to learn from, including retries.
        dead_letters: Messages that failed too often and wait for a manual retry.
        oldest_at: When the oldest pending message was stored; None if nothing is pending.
        failed_kinds: Kinds of work other than learning that failed too often.
    """

    pending_messages: int = 0
    dead_letters: int = 0
    oldest_at: datetime | None = None
    failed_kinds: tuple[WorkKind, ...] = ()
