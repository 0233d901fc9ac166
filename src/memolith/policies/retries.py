"""Whether to try again what failed, when, and when to leave a service alone for a while."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and after what pauses, a call is tried again.

    Attributes:
        most: How often at most, after the first time.
        first_pause_s: What the first pause takes at most; each one after it, twice as much.
        longest_pause_s: What none takes more than, unless the service asks for it.
        longest_wait_s: The longest that is waited because the service asks for it: a guess, as
            long as somebody who waits for a reply may bear. Where it asks for more, the call fails.
        total_s: After how long nothing is tried anew.
    """

    max_retries: int = 2
    first_pause_s: float = 0.5
    max_pause_s: float = 8.0
    max_requested_wait_s: float = 20.0
    max_total_s: float = 180.0

    def get_pause_s(
        self, attempts: int, elapsed_s: float, requested_s: float | None, jitter: float
    ) -> float | None:
        """Return how long to wait before the next try; None: there is none.

        Full jitter: anything from nothing to the bound, so that many who failed at once do not
        come back at once (M. Brooker, "Exponential Backoff And Jitter", 2015).

        Args:
            tries: How often it was tried so far.
            elapsed_s: Since the first try began.
            asked_s: What the service asked to be waited.
            chance: From 0 to 1, evenly.
        """
        if attempts > self.max_retries:
            return None
        doublings = min(attempts - 1, 30)  # so many make any pause the longest
        bound_s = min(self.max_pause_s, self.first_pause_s * 2**doublings)
        pause_s = jitter * bound_s
        if requested_s is not None:
            if requested_s > self.max_requested_wait_s:
                return None
            pause_s += requested_s
        return pause_s if elapsed_s + pause_s < self.max_total_s else None


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When a service that fails is left alone.

    Attributes:
        failures: After how many in a row; a guess: more than one call has with its retries.
        pause_s: For how long; then one call goes through, and says how it goes on.
    """

    failures: int = 5
    pause_s: float = 30.0


@dataclass(frozen=True, slots=True)
class CircuitState:
    """How a service has done lately.

    Attributes:
        failures: How often it failed in a row.
        open_until_s: Until when it is left alone (an open circuit carries nothing); None: it is
            not.
    """

    failures: int = 0
    open_until_s: float | None = None

    def get_wait_s(self, now_s: float) -> float:
        """Return how long to leave the service alone; 0: ask it."""
        return max(0.0, (self.open_until_s or now_s) - now_s)

    def begin_call(self, policy: BreakerPolicy, now_s: float) -> CircuitState:
        """Return the circuit while a call is under way: where it is a trial, no other goes through.

        A trial of which nothing is heard ends with the next pause.
        """
        if self.open_until_s is None:
            return self
        return replace(self, open_until_s=now_s + policy.pause_s)

    def record_failure(self, policy: BreakerPolicy, now_s: float) -> CircuitState:
        """Return the circuit after a failure."""
        failures = self.failures + 1
        is_over = failures >= policy.failures
        return CircuitState(failures, now_s + policy.pause_s if is_over else None)

    def release_trial(self, now_s: float) -> CircuitState:
        """Return the circuit after a call that did not reach the service: a trial is free again."""
        return self if self.open_until_s is None else replace(self, open_until_s=now_s)

    def record_success(self) -> CircuitState:
        """Return the circuit after the service did anything but fail."""
        return CircuitState()


def parse_retry_after(retry_after: str, date: str = "") -> float | None:
    """Return how many seconds a service asks to wait by its header `Retry-After`.

    Args:
        retry_after: Seconds or a date (RFC 9110, section 10.2.3).
        date: The service's own idea of now: its header `Date`.

    Returns:
        None where the header says nothing that can be read; never less than 0.
    """
    try:
        seconds = float(retry_after)
    except ValueError:
        seconds = _seconds_between(date, retry_after)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_between(earlier: str, later: str) -> float:
    try:
        return (parsedate_to_datetime(later) - parsedate_to_datetime(earlier)).total_seconds()
    except (ValueError, TypeError):
        return math.nan


# --- When work that failed is tried again, and when it is left for somebody to look at


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
