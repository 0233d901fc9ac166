"""Retry policies: pauses between attempts, circuit breaker, and backoff of background jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of retries of a call, and the pauses before them.

    Attributes:
        max_retries: Maximum number of retries.
        first_pause_s: Upper bound of the first pause; it doubles with each retry.
        max_pause_s: Upper bound of any pause, unless the service requests a longer one.
        max_requested_wait_s: Longest wait that a service may request; if it requests more, the call
            fails. A guess at how long a caller accepts to wait.
        max_total_s: Time since the first attempt after which there are no retries.
    """

    max_retries: int = 2
    first_pause_s: float = 0.5
    max_pause_s: float = 8.0
    max_requested_wait_s: float = 20.0
    max_total_s: float = 180.0

    def get_pause_s(
        self, attempts: int, elapsed_s: float, requested_s: float | None, jitter: float
    ) -> float | None:
        """Return the pause before the next attempt; None: do not retry.

        Uses full jitter: a random pause up to the bound, so that clients that failed together do
        not retry together (M. Brooker, "Exponential Backoff And Jitter", 2015).

        Args:
            attempts: Number of attempts so far.
            elapsed_s: Time since the first attempt began.
            requested_s: Wait that the service requested.
            jitter: A uniform random number, 0..1.
        """
        if attempts > self.max_retries:
            return None
        doublings = min(attempts - 1, 30)  # limits the power; any more exceed the maximum pause
        bound_s = min(self.max_pause_s, self.first_pause_s * 2**doublings)
        pause_s = jitter * bound_s
        if requested_s is not None:
            if requested_s > self.max_requested_wait_s:
                return None
            pause_s += requested_s
        return pause_s if elapsed_s + pause_s < self.max_total_s else None


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When the circuit breaker opens.

    Attributes:
        failures: Number of consecutive failures. A guess: more than one call makes with its
            retries.
        pause_s: Time until a trial call is let through, which closes or reopens the circuit.
    """

    failures: int = 5
    pause_s: float = 30.0


@dataclass(frozen=True, slots=True)
class CircuitState:
    """State of the circuit breaker of a service.

    Attributes:
        failures: Number of consecutive failures.
        open_until_s: When the circuit lets a trial call through; None: the circuit is closed.
    """

    failures: int = 0
    open_until_s: float | None = None

    def get_wait_s(self, now_s: float) -> float:
        """Return the time until the next call is allowed; 0: now."""
        return max(0.0, (self.open_until_s or now_s) - now_s)

    def begin_call(self, policy: BreakerPolicy, now_s: float) -> CircuitState:
        """Return the state during a call; a trial call blocks all others.

        A trial without an outcome expires after the next pause.
        """
        if self.open_until_s is None:
            return self
        return replace(self, open_until_s=now_s + policy.pause_s)

    def record_failure(self, policy: BreakerPolicy, now_s: float) -> CircuitState:
        """Return the state after a failure."""
        failures = self.failures + 1
        is_over = failures >= policy.failures
        return CircuitState(failures, now_s + policy.pause_s if is_over else None)

    def release_trial(self, now_s: float) -> CircuitState:
        """Return the state after a call that did not reach the service: another trial may run."""
        return self if self.open_until_s is None else replace(self, open_until_s=now_s)

    def record_success(self) -> CircuitState:
        """Return the state after any outcome but a failure."""
        return CircuitState()


def parse_retry_after(retry_after: str, date: str = "") -> float | None:
    """Return the seconds that a `Retry-After` header requests.

    Args:
        retry_after: Seconds or a date (RFC 9110, section 10.2.3).
        date: The service's current time: its `Date` header.

    Returns:
        At least 0; None if the header is unreadable.
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


# --- Backoff of background jobs


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """Exponential backoff of a background job, with a maximum number of failures.

    The values are guesses: a job that fails for a transient reason is retried for about a day, a
    text that a model cannot process three times.

    Attributes:
        first_s: Wait after the first failure, in seconds.
        max_s: Longest wait, in seconds.
        max_transient_failures: Transient failures after which the job becomes a dead letter.
        max_permanent_failures: The same for permanent failures.
    """

    first_s: float = 10.0
    max_s: float = 3_600.0
    max_transient_failures: int = 32
    max_permanent_failures: int = 3

    def get_retry_time(
        self, now: datetime, failures: int, *, is_transient: bool, jitter: float
    ) -> datetime | None:
        """Return when to retry; None: not automatically.

        Args:
            now: The current time.
            failures: Number of consecutive failures, including this one: from 1.
            is_transient: Whether a retry may succeed, as after an outage of a service.
            jitter: A uniform random number, 0..1: the wait is between half and all of its length,
                so that jobs do not retry together.
        """
        if failures >= (
            self.max_transient_failures if is_transient else self.max_permanent_failures
        ):
            return None
        doublings = min(failures - 1, 62)
        longest = min(self.first_s * 2.0**doublings, self.max_s)
        return now + timedelta(seconds=longest * (0.5 + jitter / 2))
