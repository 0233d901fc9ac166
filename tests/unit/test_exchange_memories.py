"""Exchanges as memories: a message with its reply."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.memories import Origin
from memolith.domain.messages import Message, Role
from memolith.policies.classification import CueClassifier, get_companion_kind
from memolith.policies.learning import (
    ExchangeLearning,
    LearnedMemory,
    format_exchange,
    group_exchanges,
    truncate_text,
)
from memolith.testing.builders import at, message
from support.rows import check_each

LEARNING = ExchangeLearning(CueClassifier(get_companion_kind), max_chars=200)


def user(text: str) -> Message:
    return Message(None, text, Role.USER)


def assistant(text: str) -> Message:
    return Message(None, text, Role.ASSISTANT)


def build_memories(*messages: Message) -> list[LearnedMemory]:
    return LEARNING.build_memories(messages)


def test_message_and_reply_become_one_memory() -> None:
    (one,) = build_memories(user("What time is it?"), assistant("3:00 PM"))
    assert one == LearnedMemory(
        "Q: What time is it?\nA: 3:00 PM", (0, 1), "context", 0.3, Origin.ASSISTANT
    )


def test_message_without_reply_becomes_memory() -> None:
    assert build_memories(user("I live in Oslo")) == [
        LearnedMemory("Q: I live in Oslo", (0,), "fact", 0.65)
    ]


def test_messages_without_user_message_become_no_memory() -> None:
    others = [
        assistant("Hello!"),
        Message("Bob", "I like tea", Role.PARTICIPANT),
        Message(None, "Be kind.", Role.SYSTEM),
        Message("weather", "22°C", Role.TOOL),
    ]
    assert build_memories(*others) == []


def test_each_message_gets_its_own_reply() -> None:
    messages = [user("one"), user("two"), assistant("2"), user("three"), assistant("3")]
    assert [each.places for each in build_memories(*messages)] == [(0,), (1, 2), (3, 4)]


def test_reply_is_message_after_tool_results() -> None:
    tool = Message("weather", "22°C", Role.TOOL)
    (one,) = build_memories(
        user("How warm is it?"), assistant("I'll look."), tool, assistant("22°C.")
    )
    assert one.content == "Q: How warm is it?\nA: 22°C."


def test_message_of_another_person_ends_exchange() -> None:
    bob = Message("Bob", "Never mind", Role.PARTICIPANT)
    (one,) = build_memories(user("How warm is it?"), bob, assistant("Fine then."))
    assert one.content == "Q: How warm is it?"


def test_only_users_words_are_cues() -> None:
    (one,) = build_memories(
        user("And who would you be, then?"), assistant("My name is Max. I like tea.")
    )
    assert (one.kind, one.importance) == ("context", 0.3)


def test_long_reply_is_truncated_at_end_of_sentence() -> None:
    (one,) = build_memories(user("Tell me."), assistant("One is short. " + "Two is long. " * 20))
    assert one.content.startswith("Q: Tell me.\nA: One is short. Two is long. ")
    assert one.content.endswith("Two is long. …")
    assert len(one.content) <= 200


def test_long_message_is_truncated_before_reply_gets_space() -> None:
    (one,) = build_memories(user("This goes on. " * 40), assistant("Fine, then. " * 9))
    question, reply = one.content.split("\n")
    assert question.endswith("This goes on. …")
    assert reply.endswith(" …")
    assert len(one.content) <= 200
    assert one.places == (0, 1)


@check_each(
    ("text", "max_chars", "expected"),
    [
        ("short", 5, "short"),
        ("One. Two. Three.", 16, "One. Two. Three."),
        ("One. Two. Three.", 15, "One. Two. …"),
        ("One. Two. Three.", 10, "One. …"),
        ("no end of it here", 12, "no end of …"),
        ("onlyoneword", 8, "onlyon …"),
        ("anything", 2, ""),
        ("anything", 0, ""),
    ],
)
def test_truncation_prefers_sentences_then_words_then_letters(
    text: str, max_chars: int, expected: str
) -> None:
    assert truncate_text(text, max_chars) == expected


@given(st.text(min_size=1), st.text(), st.integers(8, 60))
def test_exchange_fits_limit_and_begins_with_message(
    question: str, reply: str, max_chars: int
) -> None:
    text = format_exchange(question, reply, max_chars=max_chars)
    assert len(text) <= max_chars
    assert text.startswith("Q: ")


@given(st.text(), st.integers(0, 40))
def test_truncated_text_is_prefix_with_ellipsis(text: str, max_chars: int) -> None:
    short = truncate_text(text, max_chars)
    assert len(short) <= max_chars
    assert text.startswith(short.removesuffix(" …"))
    assert short == text or not short or short.endswith(" …")


# --- exchanges for learning with a model --------------------------------------------------------

OPEN_SINCE = at(100)


def group_numbers(*messages: Message) -> list[list[int]]:
    groups = group_exchanges(messages, open_since=OPEN_SINCE)
    return [[each.sequence for each in group] for group in groups]


def make_turn(number: int, role: Role, **fields: Any) -> Message:
    return message(number, sequence=number, role=role, **fields)


def test_exchange_ends_when_person_speaks_again() -> None:
    user, assistant, tool = Role.USER, Role.ASSISTANT, Role.TOOL
    roles = (user, tool, assistant, user, user, assistant)
    assert group_numbers(*(make_turn(n, role) for n, role in enumerate(roles, 1))) == [
        [1, 2, 3],
        [4, 5, 6],
    ]


def test_exchange_stays_within_one_session() -> None:
    first, second = make_turn(1, Role.USER), make_turn(2, Role.USER, session_id="s2")
    assert group_numbers(first, second, make_turn(3, Role.ASSISTANT)) == [[1, 3], [2]]


def test_recent_exchange_without_reply_is_left_open() -> None:
    answered = (make_turn(1, Role.USER), make_turn(2, Role.ASSISTANT))
    assert group_numbers(*answered, make_turn(99, Role.USER)) == [[1, 2], [99]]
    assert group_numbers(*answered, make_turn(101, Role.USER)) == [[1, 2]]


def test_exchange_between_people_has_at_most_eight_messages() -> None:
    people = [make_turn(n, Role.PARTICIPANT) for n in range(1, 11)]
    assert group_numbers(*people) == [[1, 2, 3, 4, 5, 6, 7, 8], [9, 10]]


@given(st.lists(st.tuples(st.sampled_from(Role), st.sampled_from(["s1", "s2"])), max_size=20))
def test_each_message_belongs_to_one_exchange_in_order(
    roles_and_sessions: list[tuple[Role, str]],
) -> None:
    messages = [
        make_turn(n, role, session_id=session)
        for n, (role, session) in enumerate(roles_and_sessions, 1)
    ]
    groups = list(group_exchanges(messages, open_since=at(1_000)))
    assert sorted(each.sequence for group in groups for each in group) == list(
        range(1, len(roles_and_sessions) + 1)
    )
    for group in groups:
        assert len({each.session_id for each in group}) == 1
        assert [each.sequence for each in group] == sorted(each.sequence for each in group)
