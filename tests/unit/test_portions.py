"""Splitting of large amounts into portions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.policies.consolidation import (
    Cascade,
    ConversationSummaryPolicy,
    SessionCompressionPolicy,
    get_portion_size,
    split_into_parts,
)


@given(st.integers(0, 5_000), st.integers(1, 60))
def test_portions_cover_everything_and_remainder_is_small(count: int, size: int) -> None:
    left, taken = count, []
    while left:
        taken.append(get_portion_size(left, size))
        left -= taken[-1]
    assert all(0 < each < 2 * size for each in taken)
    assert all(each >= size for each in taken) or count < size


@given(st.integers(0, 3_000), st.integers(1, 40), st.integers(0, 10))
def test_cascade_remainder_is_independent_of_batch_size(
    gathered: int, threshold: int, keep: int
) -> None:
    cascade = Cascade(threshold, min(keep, threshold - 1))
    left = gathered
    while taken := cascade.get_batch_size(left):
        assert taken < 2 * threshold
        left -= taken
    assert left == gathered - cascade.count_due(gathered)


@given(st.lists(st.integers(0, 50), max_size=80), st.integers(1, 60), st.integers(1, 9))
def test_parts_cover_everything_in_order_within_limits(
    lengths: list[int], room: int, most: int
) -> None:
    found = split_into_parts(lengths, room, most)
    assert [place for start, end in found for place in range(start, end)] == list(
        range(len(lengths))
    )
    assert len(found) <= most
    for start, end in found:
        held = sum(lengths[start:end])
        assert held <= max(room, -(-2 * sum(lengths) // most)) or end == start + 1


def test_short_conversation_gets_no_summary_and_long_one_several() -> None:
    rule = ConversationSummaryPolicy(min_messages=6, max_messages=60)
    assert [rule.batch_size(count) for count in (5, 6, 119, 120)] == [0, 6, 119, 60]


def test_oldest_sessions_are_selected_above_threshold() -> None:
    rule = SessionCompressionPolicy(threshold=2, session_count=1)
    assert rule.select_sessions({"a": 3, "b": 1}) == ()
    assert rule.select_sessions({"a": 3, "b": 1, "c": 2}) == ["b"]
