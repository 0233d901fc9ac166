"""Parsing of chat requests, and insertion of recalled memories."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.server.problems import Problem
from memolith.server.proxy.openai import add_system_text, parse_chat_request
from support.rows import check_each

HI = {"role": "user", "content": "Hi"}


def build_body(**more: Any) -> bytes:
    return json.dumps({"messages": [HI], **more}).encode()


def test_unchanged_request_keeps_its_bytes() -> None:
    given_ = b'{ "messages":[ {"role":"user", "content":"Hi"}], "x": 1.50 }'
    ask = parse_chat_request(given_)
    assert ask.with_messages(list(ask.messages)).raw is given_


def test_changed_request_keeps_all_other_fields() -> None:
    ask = parse_chat_request(build_body(model="m", new={"a": [1, None]}))
    made = json.loads(ask.with_messages(add_system_text(ask.messages, "Known.")).raw)
    assert made["messages"] == [{"role": "system", "content": "Known."}, HI]
    assert (made["model"], made["new"]) == ("m", {"a": [1, None]})


@check_each(
    ("first", "content"),
    [
        ({"role": "system", "content": "Be brief."}, "Be brief.\n\nKnown."),
        ({"role": "developer", "content": ""}, "Known."),
        ({"role": "system", "content": None}, "Known."),
        (
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Known."}],
        ),
    ],
)
def test_memories_are_appended_to_the_first_system_message(
    first: dict[str, Any], content: object
) -> None:
    assert add_system_text([first, HI], "Known.") == [{**first, "content": content}, HI]
    assert add_system_text([first, HI], "") == [first, HI]


@check_each(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b'{"messages": [NaN]}', 400),
        (b"[" * 100_000, 400),
        (b'{"messages": [{"role": "user", "x": ' + b"[" * 200 + b"]" * 200 + b"}]}", 400),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"messages": []}', 422),
        (b'{"messages": ["Hi"]}', 422),
        (b'{"messages": [{"role": 1}]}', 422),
        (build_body(user=7), 422),
        (build_body(model=["m"]), 422),
    ],
)
def test_invalid_request_is_rejected(body: bytes, status: int) -> None:
    with pytest.raises(Problem) as caught:
        parse_chat_request(body)
    assert caught.value.status == status


@given(st.text())
def test_any_text_survives_rewriting_the_request(text: str) -> None:
    ask = parse_chat_request(build_body(x=text))
    assert json.loads(ask.with_model("m").raw) == {"messages": [HI], "x": text, "model": "m"}


@check_each("other", ["model", "Model", "MODEL"])
def test_rewritten_request_names_the_model_once(other: str) -> None:
    # A Go service ignores the case of names and uses the last; others use the first exact match.
    body = f'{{"{other}":"dear","model":"cheap","messages":[{json.dumps(HI)}]}}'.encode()
    ask = parse_chat_request(body)
    assert ask.model == "cheap"
    assert ask.with_model(ask.model).raw.lower().count(b'"model"') == 1
    assert b"dear" not in ask.with_model(ask.model).raw
