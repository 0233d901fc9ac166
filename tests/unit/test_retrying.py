"""Policies of trying again: bounds, and when a service is left alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.retrying import Breaking, Circuit, Retrying, asked_wait_s

retryings = st.builds(
    Retrying,
    most=st.integers(0, 20),
    first_pause_s=st.floats(0.001, 10),
    longest_pause_s=st.floats(0.001, 100),
    longest_wait_s=st.floats(0, 100),
    total_s=st.floats(0, 1000),
)
chances = st.floats(0, 1, exclude_max=True)
tries = st.integers(1, 10_000)


@given(retryings, tries, st.floats(0, 2000), st.none() | st.floats(0, 500), chances)
def test_a_pause_is_within_its_bounds(
    retrying: Retrying, tried: int, elapsed_s: float, asked_s: float | None, chance: float
) -> None:
    pause_s = retrying.pause_s(tried, elapsed_s, asked_s, chance)
    if pause_s is None:
        return
    assert tried <= retrying.most
    assert elapsed_s + pause_s < retrying.total_s
    assert pause_s - (asked_s or 0) + 1e-9 >= 0
    assert pause_s <= retrying.longest_pause_s + retrying.longest_wait_s
    assert pause_s >= (asked_s or 0)


@given(retryings, tries, chances)
def test_the_bound_of_a_pause_grows(retrying: Retrying, tried: int, chance: float) -> None:
    now = retrying.pause_s(tried, 0, None, chance)
    later = retrying.pause_s(tried + 1, 0, None, chance)
    if now is not None and later is not None:
        assert later >= now


def test_pauses_double_up_to_the_longest() -> None:
    retrying = Retrying(most=9, first_pause_s=1, longest_pause_s=5, total_s=99)
    assert [retrying.pause_s(number, 0, None, 1.0) for number in (1, 2, 3, 4, 5)] == [1, 2, 4, 5, 5]


def test_nothing_is_waited_for_that_asks_too_much() -> None:
    retrying = Retrying(longest_wait_s=20)
    assert retrying.pause_s(1, 0, 20, 0.0) == 20
    assert retrying.pause_s(1, 0, 21, 0.0) is None


breakings = st.builds(Breaking, failures=st.integers(1, 10), pause_s=st.floats(1, 100))


@given(breakings, st.floats(0, 1e6))
def test_so_many_failures_in_a_row_are_a_reason_to_leave_it_alone(
    breaking: Breaking, now_s: float
) -> None:
    circuit = Circuit()
    for _ in range(breaking.failures - 1):
        circuit = circuit.failed(breaking, now_s)
        assert not circuit.wait_s(now_s)
    circuit = circuit.failed(breaking, now_s)
    assert 0 < circuit.wait_s(now_s) <= breaking.pause_s + 1e-6
    assert not circuit.wait_s(now_s + breaking.pause_s + 1e-6)


@given(breakings)
def test_after_the_pause_one_call_goes_through(breaking: Breaking) -> None:
    broken = Circuit()
    for _ in range(breaking.failures):
        broken = broken.failed(breaking, 0)
    later_s = breaking.pause_s
    assert not broken.wait_s(later_s)
    trial = broken.asking(breaking, later_s)
    assert trial.wait_s(later_s) > 0  # for all others
    assert trial.failed(breaking, later_s).wait_s(later_s) > 0
    assert trial.answered() == Circuit()
    assert not trial.unasked(later_s).wait_s(later_s)


def test_an_answer_makes_the_count_begin_anew() -> None:
    breaking = Breaking(failures=2)
    circuit = Circuit().failed(breaking, 0).answered().failed(breaking, 0)
    assert not circuit.wait_s(0)
    assert circuit.asking(breaking, 0) == circuit


@given(st.text())
def test_any_header_is_read_or_left(text: str) -> None:
    seconds = asked_wait_s(text, text)
    assert seconds is None or seconds >= 0


def test_a_wait_is_asked_for_in_seconds_or_by_a_date() -> None:
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    assert asked_wait_s("7") == 7
    assert asked_wait_s("1.5") == 1.5
    assert asked_wait_s("-3") == 0
    assert asked_wait_s("Wed, 21 Oct 2026 07:29:30 GMT", date) == 90
    assert asked_wait_s("Wed, 21 Oct 2026 07:27:00 GMT", date) == 0
    assert asked_wait_s("Wed, 21 Oct 2026 07:29:30 GMT") is None
    assert asked_wait_s("") is None
    assert asked_wait_s("nan") is None
    assert asked_wait_s("soon", date) is None
