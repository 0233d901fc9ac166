"""Retry and circuit breaker policies: their bounds, and when a service is paused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.retries import BreakerPolicy, CircuitState, RetryPolicy, parse_retry_after

retryings = st.builds(
    RetryPolicy,
    max_retries=st.integers(0, 20),
    first_pause_s=st.floats(0.001, 10),
    max_pause_s=st.floats(0.001, 100),
    max_requested_wait_s=st.floats(0, 100),
    max_total_s=st.floats(0, 1000),
)
chances = st.floats(0, 1, exclude_max=True)
tries = st.integers(1, 10_000)


@given(retryings, tries, st.floats(0, 2000), st.none() | st.floats(0, 500), chances)
def test_pause_is_within_bounds(
    retrying: RetryPolicy, tried: int, elapsed_s: float, asked_s: float | None, chance: float
) -> None:
    pause_s = retrying.get_pause_s(tried, elapsed_s, asked_s, chance)
    if pause_s is None:
        return
    assert tried <= retrying.max_retries
    assert elapsed_s + pause_s < retrying.max_total_s
    assert pause_s - (asked_s or 0) + 1e-9 >= 0
    assert pause_s <= retrying.max_pause_s + retrying.max_requested_wait_s
    assert pause_s >= (asked_s or 0)


@given(retryings, tries, chances)
def test_pause_bound_grows_with_attempts(retrying: RetryPolicy, tried: int, chance: float) -> None:
    now = retrying.get_pause_s(tried, 0, None, chance)
    later = retrying.get_pause_s(tried + 1, 0, None, chance)
    if now is not None and later is not None:
        assert later >= now


def test_pauses_double_up_to_maximum() -> None:
    retrying = RetryPolicy(max_retries=9, first_pause_s=1, max_pause_s=5, max_total_s=99)
    assert [retrying.get_pause_s(number, 0, None, 1.0) for number in (1, 2, 3, 4, 5)] == [
        1,
        2,
        4,
        5,
        5,
    ]


def test_too_long_requested_wait_is_refused() -> None:
    retrying = RetryPolicy(max_requested_wait_s=20)
    assert retrying.get_pause_s(1, 0, 20, 0.0) == 20
    assert retrying.get_pause_s(1, 0, 21, 0.0) is None


breakings = st.builds(BreakerPolicy, failures=st.integers(1, 10), pause_s=st.floats(1, 100))


@given(breakings, st.floats(0, 1e6))
def test_circuit_opens_after_maximum_failures_in_row(breaking: BreakerPolicy, now_s: float) -> None:
    circuit = CircuitState()
    for _ in range(breaking.failures - 1):
        circuit = circuit.record_failure(breaking, now_s)
        assert not circuit.get_wait_s(now_s)
    circuit = circuit.record_failure(breaking, now_s)
    assert 0 < circuit.get_wait_s(now_s) <= breaking.pause_s + 1e-6
    assert not circuit.get_wait_s(now_s + breaking.pause_s + 1e-6)


@given(breakings)
def test_open_circuit_allows_one_trial_after_pause(breaking: BreakerPolicy) -> None:
    broken = CircuitState()
    for _ in range(breaking.failures):
        broken = broken.record_failure(breaking, 0)
    later_s = breaking.pause_s
    assert not broken.get_wait_s(later_s)
    trial = broken.begin_call(breaking, later_s)
    assert trial.get_wait_s(later_s) > 0  # for all other callers
    assert trial.record_failure(breaking, later_s).get_wait_s(later_s) > 0
    assert trial.record_success() == CircuitState()
    assert not trial.release_trial(later_s).get_wait_s(later_s)


def test_success_resets_failure_count() -> None:
    breaking = BreakerPolicy(failures=2)
    circuit = (
        CircuitState().record_failure(breaking, 0).record_success().record_failure(breaking, 0)
    )
    assert not circuit.get_wait_s(0)
    assert circuit.begin_call(breaking, 0) == circuit


@given(st.text())
def test_any_retry_after_header_is_parsed_or_ignored(text: str) -> None:
    seconds = parse_retry_after(text, text)
    assert seconds is None or seconds >= 0


def test_retry_after_is_parsed_as_seconds_or_date() -> None:
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert parse_retry_after("7") == 7
    assert parse_retry_after("1.5") == 1.5
    assert parse_retry_after("-3") == 0
    assert parse_retry_after("Wed, 21 Oct 2026 07:29:30 GMT", date) == 90
    assert parse_retry_after("Wed, 21 Oct 2026 07:27:00 GMT", date) == 0
    assert parse_retry_after("Wed, 21 Oct 2026 07:29:30 GMT") is None
    assert parse_retry_after("") is None
    assert parse_retry_after("nan") is None
    assert parse_retry_after("soon", date) is None
