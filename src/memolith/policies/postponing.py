"""When work that failed is tried again, and when it is left for somebody to look at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """Twice as long after each failure in a row, up to a bound, and at last no more.

    The numbers are guesses: with these, work that a service refuses for a passing reason is tried
    for about a day, and a text that a model can make nothing of three times.

    Attributes:
        first_s: The wait after the first failure, in seconds.
        longest_s: The longest wait, in seconds.
        passing: How many failures that may pass are taken before it is parked.
        lasting: Likewise, of failures that will be the same again.
    """

    first_s: float = 10.0
    max_s: float = 3_600.0
    max_transient_failures: int = 32
    max_permanent_failures: int = 3

    def get_retry_time(
        self, now: datetime, failures: int, *, is_transient: bool, jitter: float
    ) -> datetime | None:
        """Return when to try again; None: not by itself.

        Args:
            now: The time.
            failures: How often it has failed in a row, this time too: from 1.
            may_pass: Whether the same may succeed later, as a service that is out of order.
            draw: A random number, 0 to 1: the wait is between a half and the whole of its length,
                so that many do not come back at once.
        """
        if failures >= (
            self.max_transient_failures if is_transient else self.max_permanent_failures
        ):
            return None
        doublings = min(failures - 1, 62)
        longest = min(self.first_s * 2.0**doublings, self.max_s)
        return now + timedelta(seconds=longest * (0.5 + jitter / 2))
