"""What of an owner's memory is made shorter, and when: the choices of a profile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from memolith.policies.portions import get_portion_size
from memolith.policies.triggers import (
    DEFAULT_HISTORY_COMPRESSION,
    Cascade,
    HistoryCompressionPolicy,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

SUMMARY_KIND = "summary"
"""The kind of a summary where a profile has no kind of its own for it: never recalled there, but
taken up by the base memory."""

IDLE_TIMEOUT = timedelta(hours=24)
"""A conversation in which nothing was said for so long counts as ended."""

MIN_SUMMARY_MESSAGES = 6
"""How many messages of a conversation are worth a summary: a guess, three exchanges."""

MAX_SUMMARY_MESSAGES = 60
"""Of a conversation of twice as many or more, each so many get a summary: a guess, what five
sentences can still stand for."""


@dataclass(frozen=True, slots=True)
class ConversationSummaryPolicy:
    """`standard`: a conversation that has ended gets a summary.

    Attributes:
        least: With fewer new messages it gets none.
        most: A longer one gets several.
        idle: After so long a silence it counts as ended.
    """

    min_messages: int = MIN_SUMMARY_MESSAGES
    max_messages: int = MAX_SUMMARY_MESSAGES
    idle_timeout: timedelta = IDLE_TIMEOUT

    def batch_size(self, new_messages: int) -> int:
        """Return how many of so many new messages are summarised together; 0: they are too few."""
        return (
            get_portion_size(new_messages, self.max_messages)
            if new_messages >= self.min_messages
            else 0
        )

    def is_over(self, last_at: datetime, ended_at: datetime | None, now: datetime) -> bool:
        """Tell whether a conversation has ended, and has not gone on since.

        Args:
            last_at: When its newest message was said.
            ended_at: When its end was told; None: it was not.
            now: The time.
        """
        return now - last_at >= self.idle_timeout or (ended_at is not None and ended_at >= last_at)


@dataclass(frozen=True, slots=True)
class SessionCompressionPolicy:
    """`chunks`: over so many uncompressed sessions, the oldest are compressed.

    Attributes:
        threshold: More sessions than this.
        taken: How many of the oldest are compressed then.
        of: The kind of memories that are compressed.
        into: The kind of the memory that stands for a session's.
    """

    threshold: int = 10
    session_count: int = 5
    source_kind: str = "episodic"
    target_kind: str = "semantic"

    def select_sessions(self, started_at: Mapping[str, int]) -> Sequence[str]:
        """Return the sessions to compress, oldest first.

        Args:
            started: When each uncompressed session began.
        """
        if len(started_at) <= self.threshold:
            return ()
        oldest = sorted(started_at, key=lambda session: (started_at[session], session))
        return oldest[: self.session_count]


@dataclass(frozen=True, slots=True)
class ConsolidationPolicy:
    """What a profile makes shorter. What it has None for is left as it is.

    Attributes:
        messages: When messages are summarised, counted over all of an owner's conversations.
        conversations: When a conversation as a whole is.
        summaries: When summaries go into the base memory.
        facts: How many memories the base memory is made of besides, the most important first.
        sessions: When memories of old sessions are compressed.
        history: When a history that a caller holds is compressed.
        kind: The kind of summaries.
        without_model: Whether summaries are made by themselves where there is no model too; asked
            for, they always are.
    """

    messages: Cascade | None = None
    conversations: ConversationSummaryPolicy | None = None
    summaries: Cascade | None = None
    facts: int = 10
    sessions: SessionCompressionPolicy | None = None
    history: HistoryCompressionPolicy = DEFAULT_HISTORY_COMPRESSION
    kind: str = SUMMARY_KIND
    runs_without_model: bool = True
