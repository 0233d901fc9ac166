"""When something long enough has gathered to be made shorter, and how much of it is taken."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memolith.policies.portions import get_portion_size


@dataclass(frozen=True, slots=True)
class Cascade:
    """`tiers`: once so many have gathered, all but the newest are taken together.

    Attributes:
        threshold: From how many on (30 messages, 20 summaries).
        keep: How many of the newest stay (10).
    """

    threshold: int
    keep: int = 10

    def count_due(self, gathered: int) -> int:
        """Return how many of the oldest are taken; 0 where there are too few."""
        return max(0, gathered - self.keep) if gathered >= self.threshold else 0

    def get_batch_size(self, gathered: int) -> int:
        """Return how many of those are taken at once: all of them, or, of many, the threshold.

        After an import there are thousands. Taken one portion after the other, the newest stay
        just as if all had been taken together.
        """
        return get_portion_size(self.count_due(gathered), self.threshold)


SHORT_CASCADE = Cascade(threshold=30)
"""Messages into a summary (`tiers`, section 7.1)."""

LONG_CASCADE = Cascade(threshold=20)
"""Summaries into the base memory (`tiers`, section 7.2)."""


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
