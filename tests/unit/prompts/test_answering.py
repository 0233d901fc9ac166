"""The share of a conversation that is sent to a model."""

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
def test_window_is_allocated_in_full_and_mostly_to_conversation(window: int, memory: int) -> None:
    room = WindowAllocation.allocate(window, memory)
    assert room.reply + room.memory + room.turns == window
    assert 0 < room.reply <= ANSWER_MAX_TOKENS
    assert 0 <= room.memory <= memory
    assert room.turns >= window / 2


@given(st.lists(st.integers(1, 100), min_size=1), st.integers(-10, 1_000))
def test_newest_fitting_turns_and_always_last_turn_are_sent(costs: list[int], room: int) -> None:
    number = count_fitting_turns(costs, room)
    assert 1 <= number <= len(costs)
    assert number == 1 or sum(costs[-number:]) <= room
    assert number == len(costs) or sum(costs[-number - 1 :]) > room


def test_empty_conversation_has_no_fitting_turns() -> None:
    assert count_fitting_turns([], 10) == 0


@given(turns)
def test_merged_turns_alternate_and_preserve_user_text(
    history: list[ChatMessage],
) -> None:
    merged = merge_turns(history)
    assert [turn.role for turn in merged[::2]] == ["user"] * len(merged[::2])
    assert [turn.role for turn in merged[1::2]] == ["assistant"] * len(merged[1::2])
    users = "\n\n".join(turn.content for turn in history if turn.role == "user")
    assert "\n\n".join(turn.content for turn in merged if turn.role == "user") == users
