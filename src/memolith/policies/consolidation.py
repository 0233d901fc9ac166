"""Much that is to be worked on in portions: how it is cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


def get_portion_size(count: int, size: int) -> int:
    """Return how many of so many are taken at once, so that less than `size` is never left."""
    return count if count < 2 * size else size


def split_into_parts(
    lengths: Sequence[int], part_size: int, max_parts: int
) -> list[tuple[int, int]]:
    """Cut texts, in order, into parts that fit a room, each of one text at least.

    Args:
        lengths: Of the texts.
        room: How much a part may hold, if there are not too many parts.
        most: The most parts, at least 1.

    Returns:
        The place of the first text of each part, and the place after its last; one part of none.
    """
    each = max(part_size, -(-2 * sum(lengths) // max_parts))
    found: list[tuple[int, int]] = []
    start = held = 0
    for place, length in enumerate(lengths):
        if place > start and held + length > each:
            found.append((start, place))
            start, held = place, 0
        held += length
    return [*found, (start, len(lengths))]


# --- When something long enough has gathered to be made shorter, and how much of it is taken


@dataclass(frozen=True, slots=True)
class Cascade:
    """`tiers`: once so many have gathered, all but the newest are taken together.

    Attributes:
        threshold: From how many on (30 messages, 20 summaries).
        keep: How many of the newest stay (10).
    """

    threshold: int
    keep: int

    def count_due(self, gathered: int) -> int:
        """Return how many of the oldest are taken; 0 where there are too few."""
        return max(0, gathered - self.keep) if gathered >= self.threshold else 0

    def get_batch_size(self, gathered: int) -> int:
        """Return how many of those are taken at once: all of them, or, of many, the threshold.

        After an import there are thousands. Taken one portion after the other, the newest stay
        just as if all had been taken together.
        """
        return get_portion_size(self.count_due(gathered), self.threshold)


class CompressionTrigger(StrEnum):
    """Why a history is compressed."""

    TOKENS = "tokens"
    TURNS = "turns"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class HistoryCompressionPolicy:
    """`timeline`: when a history is compressed (section 5).

    Attributes:
        window_share: The share of the context window that it must take more than.
        turns: So many turns since the last time are enough.
        idle_minutes: So long a silence is enough.
    """

    window_share: float = 0.5
    turns: int = 3
    idle_minutes: float = 10.0

    def find_triggers(
        self, *, tokens: int, context_window: int, turns: int, idle_minutes: float, new: int
    ) -> tuple[CompressionTrigger, ...]:
        """Return every reason there is.

        Args:
            tokens: What the history takes of the window.
            context_window: What the window holds.
            turns: Turns since the last time.
            idle_minutes: Time since anything was said.
            new: Messages since the last time; with none, nothing fires.
        """
        reasons = {
            CompressionTrigger.TOKENS: tokens > context_window * self.window_share,
            CompressionTrigger.TURNS: turns >= self.turns,
            CompressionTrigger.IDLE: idle_minutes >= self.idle_minutes,
        }
        return tuple(reason for reason, given in reasons.items() if given and new > 0)


DEFAULT_HISTORY_COMPRESSION = HistoryCompressionPolicy()
"""With the numbers of `timeline`."""


# --- What of an owner's memory is made shorter, and when: the choices of a profile


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

    threshold: int
    session_count: int
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
