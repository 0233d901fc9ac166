"""When work that failed is tried again."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.postponing import Postponing

NOW = datetime(2026, 5, 8, tzinfo=UTC)
POLICY = Postponing()


def wait_s(failures: int, *, may_pass: bool = True, draw: float = 1.0) -> float | None:
    at = POLICY.retry_at(NOW, failures, may_pass=may_pass, draw=draw)
    return None if at is None else (at - NOW).total_seconds()


def test_the_wait_doubles() -> None:
    assert [wait_s(failures) for failures in (1, 2, 3)] == [10.0, 20.0, 40.0]


def test_what_will_be_the_same_again_is_tried_three_times() -> None:
    assert [wait_s(failures, may_pass=False) for failures in (1, 2, 3)] == [10.0, 20.0, None]


def test_what_may_pass_is_tried_for_about_a_day() -> None:
    waits = [wait_s(failures) or 0.0 for failures in range(1, POLICY.passing)]
    assert 20 * 3600 < sum(waits) < 30 * 3600
    assert wait_s(POLICY.passing) is None


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_wait_is_never_too_short_nor_too_long(failures: int, draw: float) -> None:
    policy = Postponing(passing=10_001)
    at = policy.retry_at(NOW, failures, may_pass=True, draw=draw)
    assert at is not None
    assert policy.first_s / 2 <= (at - NOW).total_seconds() <= policy.longest_s
