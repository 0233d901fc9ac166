"""What language models were asked for an owner, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies import arguments
from memolith.ports.usage import ModelUsage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memolith.ports.usage import Prices
    from memolith.services.access import Access


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What was spent on calls of a language model.

    Attributes:
        since: From when on: the beginning of an hour.
        by_purpose: For what: "extraction", "arbitration", "summary", "base memory", "chat".
        total: All of it.
        cost: In whatever money the prices are configured in; None where there are none.
    """

    since: datetime
    by_purpose: Mapping[str, ModelUsage]
    total: ModelUsage
    cost: float | None


class UsageReporter:
    """Says what was spent."""

    def __init__(self, access: Access, prices: Prices) -> None:
        """Use these."""
        self._access = access
        self._prices = prices

    def report(self, owner_id: str, since: datetime | None) -> UsageReport:
        """Return what was spent for an owner from the hour of a time on; None: this hour.

        Raises:
            InvalidInput: The time has no zone.
        """
        at = self._access.clock.now() if since is None else arguments.check_instant(since, "since")
        found = self._access.store.usage.get_usage(owner_id, at)
        total = sum(found.values(), ModelUsage())
        return UsageReport(
            since=at.replace(minute=0, second=0, microsecond=0),
            by_purpose=found,
            total=total,
            cost=self._prices.cost(total) if self._prices.is_configured else None,
        )
