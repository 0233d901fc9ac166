"""OpenAI's protocol in Anthropic's words, and back."""

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
    ("chosen", "told"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "f"}}, {"type": "tool", "name": "f"}),
    ],
)
def test_a_choice_of_tools_is_told(chosen: object, told: dict[str, str]) -> None:
    made = translate_request(
        {**HI, "tools": [TOOL], "tool_choice": chosen, "parallel_tool_calls": False}
    )
    alone = {} if chosen == "none" else {"disable_parallel_tool_use": True}
    assert made["tool_choice"] == {**told, **alone}
    assert made["tools"][0]["description"] == "does"
    assert "tool_choice" not in translate_request({**HI, "tool_choice": chosen})


def test_a_schema_is_told() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    made = translate_request({**HI, "response_format": wanted})
    assert made["output_config"]["format"] == {"type": "json_schema", "schema": {"type": "object"}}


def test_turns_of_one_speaker_are_one() -> None:
    said = [
        {"role": "system", "content": "A"},
        {"role": "user", "content": "1"},
        {"role": "user", "content": "2"},
        {"role": "assistant", "content": ""},
        {"role": "developer", "content": "B"},
        {"role": "user", "content": "3"},
    ]
    made = translate_request({**HI, "messages": said})
    assert made["system"] == "A\n\nB"
    (turn,) = made["messages"]
    assert [block["text"] for block in turn["content"]] == ["1", "2", "3"]


def test_arguments_that_are_no_json_are_refused() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{"}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    with pytest.raises(Problem):
        translate_request({**HI, "messages": [said]})


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
def test_why_it_ended_is_told(stop: str, finish: str) -> None:
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
def test_no_request_is_an_error_of_ours(said: list[dict[str, Any]], more: dict[str, Any]) -> None:
    with suppress(Problem):
        assert json.dumps(translate_request({**more, "model": "m", "messages": said}))


@given(json_values)
def test_what_a_failure_says_is_told_in_openais_form(body: object) -> None:
    assert set(translate_error_body(body, 500)["error"]) == {"message", "type", "param", "code"}


def test_no_chance_is_a_chance_too() -> None:
    assert translate_request({**HI, "temperature": 0})["extra_body"] == {"temperature": 0}
