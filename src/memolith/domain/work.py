"""What is still to be done with a model for an owner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


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
