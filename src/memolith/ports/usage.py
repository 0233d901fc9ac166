"""What language models were asked for an owner, counted by the hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_TOKENS_PER_PRICE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What was spent on calls of a model.

    Attributes:
        calls: How many there were, failed ones too.
        input_tokens: What was asked took in all, as the services counted.
        output_tokens: Likewise, the replies.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, more: ModelUsage) -> ModelUsage:
        """Return both together."""
        return ModelUsage(
            self.calls + more.calls,
            self.input_tokens + more.input_tokens,
            self.output_tokens + more.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in whatever money they are paid; 0: nobody has said."""

    input: float = 0.0
    output: float = 0.0

    @property
    def is_configured(self) -> bool:
        """Whether there are any."""
        return self.input > 0 or self.output > 0

    def cost(self, model_usage: ModelUsage) -> float:
        """Return what was spent in money."""
        cost = model_usage.input_tokens * self.input + model_usage.output_tokens * self.output
        return cost / _TOKENS_PER_PRICE


class UsageCounter(Protocol):
    """Counts of calls, by owner, hour and purpose. Thread-safe, the same to all processes.

    Counting waits for whoever writes to the owner: it can't be done within a transaction of one's
    own.
    """

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        """Count calls, in the hour (UTC) of `at`.

        Of an owner who has nothing stored nothing is kept, nor of one who was erased. No event,
        no version; the owner's counter does not move. Purposes are kept in the clear.
        """
        ...

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        """Return what was spent by purpose, sorted, from the hour (UTC) of `start` on."""
        ...
