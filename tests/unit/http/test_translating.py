"""Translation between OpenAI's and Anthropic's protocols."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.server.problems import Problem
from memolith.server.proxy.anthropic import (
    translate_completion,
    translate_error_body,
    translate_request,
)
from support.rows import check_each

HI: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
TOOL = {"type": "function", "function": {"name": "f", "description": "does"}}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "f"}}, {"type": "tool", "name": "f"}),
    ],
)
def test_tool_choice_is_translated(chosen: object, expected: dict[str, str]) -> None:
    made = translate_request(
        {**HI, "tools": [TOOL], "tool_choice": chosen, "parallel_tool_calls": False}
    )
    alone = {} if chosen == "none" else {"disable_parallel_tool_use": True}
    assert made["tool_choice"] == {**expected, **alone}
    assert made["tools"][0]["description"] == "does"
    assert "tool_choice" not in translate_request({**HI, "tool_choice": chosen})


def test_response_schema_is_translated() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    made = translate_request({**HI, "response_format": wanted})
    assert made["output_config"]["format"] == {"type": "json_schema", "schema": {"type": "object"}}


def test_consecutive_messages_of_one_role_are_joined() -> None:
    messages = [
        {"role": "system", "content": "A"},
        {"role": "user", "content": "1"},
        {"role": "user", "content": "2"},
        {"role": "assistant", "content": ""},
        {"role": "developer", "content": "B"},
        {"role": "user", "content": "3"},
    ]
    made = translate_request({**HI, "messages": messages})
    assert made["system"] == "A\n\nB"
    (turn,) = made["messages"]
    assert [block["text"] for block in turn["content"]] == ["1", "2", "3"]


def test_tool_arguments_that_are_not_json_are_rejected() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    with pytest.raises(Problem):
        translate_request({**HI, "messages": [message]})


@check_each(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "length"),
    ],
)
def test_stop_reason_is_translated(stop: str, finish: str) -> None:
    made = translate_completion({"content": [], "stop_reason": stop}, 0)
    assert made["choices"][0]["finish_reason"] == finish
    assert made["choices"][0]["message"]["content"] is None


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
fields = ["n", "stop", "tools", "tool_choice", "response_format", "max_tokens", "temperature"]


@given(
    st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
            optional={"content": json_values, "tool_calls": json_values},
        ),
        min_size=1,
        max_size=4,
    ),
    st.dictionaries(st.sampled_from(fields), json_values),
)
def test_any_request_translates_or_is_rejected(
    messages: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    with suppress(Problem):
        assert json.dumps(translate_request({**more, "model": "m", "messages": messages}))


@given(json_values)
def test_any_error_body_is_translated_to_openai_form(body: object) -> None:
    assert set(translate_error_body(body, 500)["error"]) == {"message", "type", "param", "code"}


def test_temperature_of_zero_is_preserved() -> None:
    assert translate_request({**HI, "temperature": 0})["extra_body"] == {"temperature": 0}
