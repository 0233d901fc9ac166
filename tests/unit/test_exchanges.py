"""Exchanges as memories: what was said and what was answered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.domain.messages import Message, Role
from mnemon.policies.exchanges import ExchangesLearned, exchange, shortened
from mnemon.policies.importance import companion_kind
from mnemon.policies.judging import CueJudging
from mnemon.policies.learning import Made

LEARNING = ExchangesLearned(CueJudging(companion_kind), max_chars=200)


def user(text: str) -> Message:
    return Message(None, text, Role.USER)


def assistant(text: str) -> Message:
    return Message(None, text, Role.ASSISTANT)


def made(*messages: Message) -> list[Made]:
    return LEARNING.made(messages)


def test_a_message_and_its_reply_are_one_memory_of_both() -> None:
    (one,) = made(user("What time is it?"), assistant("3:00 PM"))
    assert one == Made("Q: What time is it?\nA: 3:00 PM", (0, 1), "context", 0.3)


def test_a_message_without_a_reply_is_a_memory_of_its_own() -> None:
    assert made(user("I live in Oslo")) == [Made("Q: I live in Oslo", (0,), "fact", 0.65)]


def test_what_nobody_asked_for_is_no_memory() -> None:
    others = [
        assistant("Hello!"),
        Message("Bob", "I like tea", Role.PARTICIPANT),
        Message(None, "Be kind.", Role.SYSTEM),
        Message("weather", "22°C", Role.TOOL),
    ]
    assert made(*others) == []


def test_each_message_gets_its_own_reply() -> None:
    messages = [user("one"), user("two"), assistant("2"), user("three"), assistant("3")]
    assert [each.places for each in made(*messages)] == [(0,), (1, 2), (3, 4)]


def test_the_reply_is_what_is_said_after_the_tools_have_answered() -> None:
    tool = Message("weather", "22°C", Role.TOOL)
    (one,) = made(user("How warm is it?"), assistant("I'll look."), tool, assistant("22°C."))
    assert one.content == "Q: How warm is it?\nA: 22°C."


def test_what_another_person_says_ends_the_exchange() -> None:
    bob = Message("Bob", "Never mind", Role.PARTICIPANT)
    (one,) = made(user("How warm is it?"), bob, assistant("Fine then."))
    assert one.content == "Q: How warm is it?"


def test_only_the_users_words_are_cues() -> None:
    (one,) = made(user("And who would you be, then?"), assistant("My name is Max. I like tea."))
    assert (one.kind, one.importance) == ("context", 0.3)


def test_a_long_reply_is_cut_at_a_sentences_end() -> None:
    (one,) = made(user("Tell me."), assistant("One is short. " + "Two is long. " * 20))
    assert one.content.startswith("Q: Tell me.\nA: One is short. Two is long. ")
    assert one.content.endswith("Two is long. …")
    assert len(one.content) <= 200


def test_a_long_message_is_cut_before_its_reply_is_given_room() -> None:
    (one,) = made(user("This goes on. " * 40), assistant("Fine, then. " * 9))
    said, reply = one.content.split("\n")
    assert said.endswith("This goes on. …")
    assert reply.endswith(" …")
    assert len(one.content) <= 200
    assert one.places == (0, 1)


@pytest.mark.parametrize(
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
def test_shortening_keeps_whole_sentences_then_words_then_letters(
    text: str, max_chars: int, expected: str
) -> None:
    assert shortened(text, max_chars) == expected


@given(st.text(min_size=1), st.text(), st.integers(8, 60))
def test_an_exchange_is_never_too_long_and_begins_with_what_was_said(
    said: str, reply: str, max_chars: int
) -> None:
    text = exchange(said, reply, max_chars=max_chars)
    assert len(text) <= max_chars
    assert text.startswith("Q: ")


@given(st.text(), st.integers(0, 40))
def test_what_is_shortened_is_a_beginning_and_says_so(text: str, max_chars: int) -> None:
    short = shortened(text, max_chars)
    assert len(short) <= max_chars
    assert text.startswith(short.removesuffix(" …"))
    assert short == text or not short or short.endswith(" …")
