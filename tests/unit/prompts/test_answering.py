"""What of a conversation a model is told, and how much of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memolith.ports.models import ChatMessage
from memolith.prompts.chat import (
    ANSWER_MAX_TOKENS,
    WindowAllocation,
    count_fitting_turns,
    merge_turns,
)

turns = st.lists(
    st.builds(ChatMessage, st.sampled_from(["user", "assistant"]), st.text(min_size=1, max_size=9))
)


@given(st.integers(512, 10**8), st.integers(0, 10**6))
def test_a_window_is_shared_out_in_full_and_most_of_it_to_what_was_said(
    window: int, memory: int
) -> None:
    room = WindowAllocation.allocate(window, memory)
    assert room.reply + room.memory + room.turns == window
    assert 0 < room.reply <= ANSWER_MAX_TOKENS
    assert 0 <= room.memory <= memory
    assert room.turns >= window / 2


@given(st.lists(st.integers(1, 100), min_size=1), st.integers(-10, 1_000))
def test_the_newest_that_fit_are_told_and_the_last_always(costs: list[int], room: int) -> None:
    number = count_fitting_turns(costs, room)
    assert 1 <= number <= len(costs)
    assert number == 1 or sum(costs[-number:]) <= room
    assert number == len(costs) or sum(costs[-number - 1 :]) > room


def test_of_nothing_nothing_is_told() -> None:
    assert count_fitting_turns([], 10) == 0


@given(turns)
def test_a_user_begins_nobody_speaks_twice_in_a_row_and_no_word_of_a_user_is_lost(
    said: list[ChatMessage],
) -> None:
    told = merge_turns(said)
    assert [turn.role for turn in told[::2]] == ["user"] * len(told[::2])
    assert [turn.role for turn in told[1::2]] == ["assistant"] * len(told[1::2])
    users = "\n\n".join(turn.content for turn in said if turn.role == "user")
    assert "\n\n".join(turn.content for turn in told if turn.role == "user") == users
