"""Summarisation and compression: triggers, portions and the policies of profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


def get_portion_size(count: int, size: int) -> int:
    """Return the size of the next portion, so that no remainder smaller than `size` is left."""
    return count if count < 2 * size else size


def split_into_parts(
    lengths: Sequence[int], part_size: int, max_parts: int
) -> list[tuple[int, int]]:
    """Split texts, in order, into parts of limited length, with at least one text each.

    Args:
        lengths: Lengths of the texts.
        part_size: Length of a part; larger if there would be more than `max_parts`.
        max_parts: Maximum number of parts, at least 1.

    Returns:
        For each part the index of its first text and the index after its last; one empty part if
        there are no texts.
    """
    each = max(part_size, -(-2 * sum(lengths) // max_parts))
    parts: list[tuple[int, int]] = []
    start = size = 0
    for place, length in enumerate(lengths):
        if place > start and size + length > each:
            parts.append((start, place))
            start, size = place, 0
        size += length
    return [*parts, (start, len(lengths))]


# --- Triggers


@dataclass(frozen=True, slots=True)
class Cascade:
    """Consolidates all but the newest items once there are enough (`tiers`).

    Attributes:
        threshold: Number of items from which the older ones are consolidated.
        keep: Number of newest items that remain.
    """

    threshold: int
    keep: int

    def count_due(self, pending: int) -> int:
        """Return the number of oldest items to consolidate; 0 below the threshold."""
        return max(0, pending - self.keep) if pending >= self.threshold else 0

    def get_batch_size(self, pending: int) -> int:
        """Return the number of items to consolidate at once: all that are due, or the threshold.

        An import may add thousands. In portions, the same newest items remain as in a single step.
        """
        return get_portion_size(self.count_due(pending), self.threshold)


class CompressionTrigger(StrEnum):
    """The reason for compressing a history."""

    TOKENS = "tokens"
    TURNS = "turns"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class HistoryCompressionPolicy:
    """Conditions for compressing a history (`timeline`, section 5); any one suffices.

    Attributes:
        window_share: Share of the context window that the history exceeds.
        turns: Turns since the last compression.
        idle_minutes: Minutes without a message.
    """

    window_share: float = 0.5
    turns: int = 3
    idle_minutes: float = 10.0

    def find_triggers(
        self, *, tokens: int, context_window: int, turns: int, idle_minutes: float, new: int
    ) -> tuple[CompressionTrigger, ...]:
        """Return all conditions that hold.

        Args:
            tokens: Tokens of the history.
            context_window: Size of the context window, in tokens.
            turns: Turns since the last compression.
            idle_minutes: Minutes since the last message.
            new: Messages since the last compression; if 0, no condition holds.
        """
        reasons = {
            CompressionTrigger.TOKENS: tokens > context_window * self.window_share,
            CompressionTrigger.TURNS: turns >= self.turns,
            CompressionTrigger.IDLE: idle_minutes >= self.idle_minutes,
        }
        return tuple(reason for reason, is_reached in reasons.items() if is_reached and new > 0)


DEFAULT_HISTORY_COMPRESSION = HistoryCompressionPolicy()
"""The values of `timeline`."""


# --- Policies


SUMMARY_KIND = "summary"
"""Kind of summaries in profiles without one of their own: never recalled, only merged into the base
memory.
"""

IDLE_TIMEOUT = timedelta(hours=24)
"""Idle time after which a conversation counts as ended."""

MIN_SUMMARY_MESSAGES = 6
"""Minimum number of messages for a summary: three exchanges. A guess."""

MAX_SUMMARY_MESSAGES = 60
"""A conversation of twice this many messages gets one summary for each this many: about what five
sentences can cover. A guess.
"""


@dataclass(frozen=True, slots=True)
class ConversationSummaryPolicy:
    """Summarises conversations that have ended (`standard`).

    Attributes:
        min_messages: Minimum number of new messages for a summary.
        max_messages: Longer conversations get several summaries.
        idle_timeout: Idle time after which a conversation counts as ended.
    """

    min_messages: int = MIN_SUMMARY_MESSAGES
    max_messages: int = MAX_SUMMARY_MESSAGES
    idle_timeout: timedelta = IDLE_TIMEOUT

    def batch_size(self, new_messages: int) -> int:
        """Return the number of new messages to summarise together; 0: too few."""
        return (
            get_portion_size(new_messages, self.max_messages)
            if new_messages >= self.min_messages
            else 0
        )

    def is_over(self, last_at: datetime, ended_at: datetime | None, now: datetime) -> bool:
        """Return whether a conversation has ended and was not resumed.

        Args:
            last_at: Time of its newest message.
            ended_at: When the caller ended it; None: not ended explicitly.
            now: The current time.
        """
        return now - last_at >= self.idle_timeout or (ended_at is not None and ended_at >= last_at)


@dataclass(frozen=True, slots=True)
class SessionCompressionPolicy:
    """Compresses the oldest sessions once there are too many (`chunks`).

    Attributes:
        threshold: Number of uncompressed sessions above which the oldest are compressed.
        session_count: Number of sessions compressed at once.
        source_kind: Kind of the memories that are compressed.
        target_kind: Kind of the resulting memory.
    """

    threshold: int
    session_count: int
    source_kind: str = "episodic"
    target_kind: str = "semantic"

    def select_sessions(self, started_at: Mapping[str, int]) -> Sequence[str]:
        """Return the sessions to compress, oldest first.

        Args:
            started_at: Start time of each uncompressed session.
        """
        if len(started_at) <= self.threshold:
            return ()
        oldest = sorted(started_at, key=lambda session: (started_at[session], session))
        return oldest[: self.session_count]


@dataclass(frozen=True, slots=True)
class ConsolidationPolicy:
    """The summaries and compressions of a profile; None disables a part.

    Attributes:
        messages: When messages are summarised, counted over all conversations of an owner.
        conversations: When a whole conversation is summarised.
        summaries: When summaries are merged into the base memory.
        facts: Number of other memories in the base memory, most important first.
        sessions: When memories of old sessions are compressed.
        history: When a history that a caller holds is compressed.
        kind: Kind of summaries.
        runs_without_model: Whether summaries are also made automatically without a model; on
            request they always are.
    """

    messages: Cascade | None = None
    conversations: ConversationSummaryPolicy | None = None
    summaries: Cascade | None = None
    facts: int = 10
    sessions: SessionCompressionPolicy | None = None
    history: HistoryCompressionPolicy = DEFAULT_HISTORY_COMPRESSION
    kind: str = SUMMARY_KIND
    runs_without_model: bool = True
