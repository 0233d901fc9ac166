from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.prompts.replies import (
    MAX_REPLY_CHARS,
    MAX_REPLY_DEPTH,
    InvalidReply,
    parse_json_reply,
)
from support.rows import check_each


class Answer(msgspec.Struct):
    text: str
    number: int = 0


GOOD = '{"text": "a {brace} and a \\"quote\\" [1]", "number": 3}'
ANSWER = Answer('a {brace} and a "quote" [1]', 3)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@check_each(
    "reply",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here it is, as you asked:\n\n{GOOD}\n\nI hope this helps!",
        f'It\'s "this" [see turn 1]: {GOOD} (from turn [1])',
        f"<think>\nPerhaps {{}} or {GOOD[:10]}…\n</think>\n{GOOD}",
        f"<thinking>[</thinking>{GOOD}",
        f"{GOOD}\n\nOnce more: {GOOD}",
        f"A mismatch {{ ] first. {GOOD}",
        f"\ufeff{GOOD}",
    ],
)
def test_answer_is_parsed_from_any_position(reply: str) -> None:
    assert parse_json_reply(reply, Answer) == ANSWER


def test_unknown_fields_are_ignored_and_last_duplicate_wins() -> None:
    reply = '{"text": "one", "more": {"deep": [1]}, "text": "two"}'

    assert parse_json_reply(reply, Answer) == Answer("two")


@check_each(
    ("reply", "problem"),
    [
        ("", "no JSON"),
        ("I am sorry, I can't do that.", "no JSON"),
        ('{"text": "cut of', "no JSON"),
        ("<think> for ever {", "no JSON"),
        ('{"text": "trailing",}', "JSON of another form"),
        ('{"text": 3}', "JSON of another form"),
        ('{"number": 3}', "JSON of another form"),
        ('{"text": "a", "number": "3"}', "JSON of another form"),
        ('{"text": "a", "number": 1e400}', "JSON of another form"),
        ("{text: 'a'}", "JSON of another form"),
        ("[1, 2]", "JSON of another form"),
        ('{"text": "one"} {"text": "two"}', "more than one"),
        ("[" * (MAX_REPLY_DEPTH + 1), "deeper"),
        (" " * (MAX_REPLY_CHARS + 1), "characters long"),
    ],
)
def test_invalid_reply_error_names_problem(reply: str, problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        parse_json_reply(reply, Answer)


def test_invalid_reply_error_repeats_no_content() -> None:
    with pytest.raises(InvalidReply) as raised:
        parse_json_reply('{"text": ["s3cret-word"], "s3cret-field": "s3cret-value"}', Answer)

    assert "s3cret" not in str(raised.value)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_reply_is_parsed_or_rejected(before: str, after: str) -> None:
    try:
        parse_json_reply(before + GOOD + after, Answer)
        parse_json_reply(before + GOOD[:-1] + after, Answer)
    except InvalidReply:
        pass


@given(values)
def test_any_json_answer_in_prose_is_parsed(value: Any) -> None:
    reply = f"So: {json.dumps({'text': 'x', 'unknown': value})}. Done."

    assert parse_json_reply(reply, Answer) == Answer("x")


@check_each("mark", ["{", "[", '"', "\\", '{"', "[{", "]", "{]", '{"a":', "[]", "<think>"])
def test_hostile_reply_of_maximum_length_is_rejected(mark: str) -> None:
    reply = (mark * MAX_REPLY_CHARS)[:MAX_REPLY_CHARS]

    with pytest.raises(InvalidReply):
        parse_json_reply(reply, Answer)
