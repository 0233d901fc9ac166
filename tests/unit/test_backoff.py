"""The time at which failed work is retried."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.retries import BackoffPolicy

NOW = datetime(2026, 5, 8, tzinfo=UTC)
POLICY = BackoffPolicy()


def get_wait_s(failures: int, *, may_pass: bool = True, draw: float = 1.0) -> float | None:
    at = POLICY.get_retry_time(NOW, failures, is_transient=may_pass, jitter=draw)
    return None if at is None else (at - NOW).total_seconds()


def test_wait_doubles() -> None:
    assert [get_wait_s(failures) for failures in (1, 2, 3)] == [10.0, 20.0, 40.0]


def test_permanent_failure_is_tried_three_times() -> None:
    assert [get_wait_s(failures, may_pass=False) for failures in (1, 2, 3)] == [10.0, 20.0, None]


def test_transient_failure_is_retried_for_about_one_day() -> None:
    waits = [get_wait_s(failures) or 0.0 for failures in range(1, POLICY.max_transient_failures)]
    assert 20 * 3600 < sum(waits) < 30 * 3600
    assert get_wait_s(POLICY.max_transient_failures) is None


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_wait_is_within_bounds(failures: int, draw: float) -> None:
    policy = BackoffPolicy(max_transient_failures=10_001)
    at = policy.get_retry_time(NOW, failures, is_transient=True, jitter=draw)
    assert at is not None
    assert policy.first_s / 2 <= (at - NOW).total_seconds() <= policy.max_s
