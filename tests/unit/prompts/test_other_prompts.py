from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.hostile import HOSTILE
from memolith.policies.merging import Operation, Verdict
from memolith.ports.models import ChatMessage, Prompt
from memolith.prompts.chat import MEMORY_HEADING, build_answer_prompt
from memolith.prompts.fencing import TranscriptTurn
from memolith.prompts.learning import build_arbitration_prompt, parse_verdict
from memolith.prompts.replies import InvalidReply
from memolith.prompts.summaries import (
    CASCADE_STYLE,
    HISTORY_STYLE,
    SESSION_STYLE,
    SummaryStyle,
    build_base_memory_prompt,
    build_summary_prompt,
    parse_base_memory,
    parse_summary,
)
from support.rows import check_each

NONCE = "9f2c41d07ab3e586"
AT = datetime(2024, 5, 1, 9, tzinfo=UTC)
STYLES = (CASCADE_STYLE, SESSION_STYLE, HISTORY_STYLE)

anything = st.text(max_size=80) | st.sampled_from(HOSTILE)


def get_unfenced_text(prompt: Prompt) -> str:
    """Return the prompt's text outside its fences."""
    lines = prompt.messages[-1].content.splitlines()
    return "\n".join(line for line in lines if not line.startswith(">"))


@given(anything, anything)
def test_arbitrated_memories_never_leave_their_fences(existing: str, candidate: str) -> None:
    plain = build_arbitration_prompt("a", "b", NONCE)

    assert get_unfenced_text(
        build_arbitration_prompt(existing, candidate, NONCE)
    ) == get_unfenced_text(plain)


@given(anything, st.sampled_from(STYLES))
def test_summarised_conversation_never_leaves_its_fence(content: str, style: SummaryStyle) -> None:
    plain = build_summary_prompt(style, [TranscriptTurn("a")], NONCE)

    hostile = build_summary_prompt(style, [TranscriptTurn(content, "tool", AT)], NONCE)
    assert get_unfenced_text(hostile) == get_unfenced_text(plain)


@given(anything, anything, anything)
def test_base_memory_inputs_never_leave_their_fences(
    old: str, conversation: str, fact: str
) -> None:
    plain = build_base_memory_prompt("", [], [], NONCE)

    assert get_unfenced_text(
        build_base_memory_prompt(old, [conversation], [fact], NONCE)
    ) == get_unfenced_text(plain)


@check_each(
    "prompt",
    [
        build_arbitration_prompt("a", "b", NONCE),
        build_base_memory_prompt("", [], [], NONCE),
        *(build_summary_prompt(style, [], NONCE) for style in STYLES),
    ],
)
def test_rules_come_first_and_contain_no_nonce(prompt: Prompt) -> None:
    assert [turn.role for turn in prompt.messages] == ["system", "user"]
    assert NONCE not in prompt.messages[0].content
    assert prompt.schema is not None
    assert prompt.schema.json["required"] == list(prompt.schema.json["properties"])


@check_each(
    ("reply", "verdict"),
    [
        ('{"reasoning": "r", "operation": "ADD", "content": ""}', Verdict(Operation.ADD, "", "r")),
        ('{"operation": "noop"}', Verdict(Operation.NOOP)),
        ('{"operation": "DELETE", "content": "x"}', Verdict(Operation.DELETE)),
        ('```\n{"operation": "Update", "content": " x "}\n```', Verdict(Operation.UPDATE, "x")),
    ],
)
def test_verdict_is_parsed(reply: str, verdict: Verdict) -> None:
    assert parse_verdict(reply) == verdict


@check_each(
    "reply",
    [
        "ADD",
        '{"operation": "KEEP"}',
        '{"operation": 1}',
        '{"operation": "UPDATE"}',
        '{"operation": "UPDATE", "content": " "}',
        '{"operation": "ADD"} or {"operation": "DELETE"}',
    ],
)
def test_malformed_verdict_is_rejected(reply: str) -> None:
    with pytest.raises(InvalidReply):
        parse_verdict(reply)


def test_summary_prompt_names_target_length() -> None:
    rules, request = build_summary_prompt(
        CASCADE_STYLE, [TranscriptTurn("Hi", "user (Anna)", AT)], NONCE
    ).messages

    assert "3 to 5 sentences" in rules.content
    assert "3 to 5 sentences" in request.content
    assert "> [1] user (Anna), 2024-05-01 (Wednesday): Hi" in request.content


def test_summary_is_parsed_as_one_paragraph() -> None:
    assert parse_summary('{"summary": " Anna\\n moved. "}') == "Anna moved."


@check_each("reply", ["Anna moved.", '{"summary": ""}', '{"summary": ["a"]}', "{}"])
def test_malformed_summary_is_rejected(reply: str) -> None:
    with pytest.raises(InvalidReply):
        parse_summary(reply)


def test_base_memory_sections_are_ordered_without_empty_ones() -> None:
    reply = """{"key_history": ["- Moved to Oslo in 2019", "Moved to Oslo in 2019", " "],
        "preferences": [], "ongoing_topics": [], "user_profile": ["Name: Alex\\nat NASA"]}"""

    assert parse_base_memory(reply) == (
        "User Profile:\n- Name: Alex at NASA\n\nKey History:\n- Moved to Oslo in 2019"
    )


@check_each(
    "reply",
    [
        "User Profile:\n- Alex",
        '{"user_profile": ["Alex"]}',
        '{"user_profile": [], "preferences": [], "ongoing_topics": [], "key_history": [""]}',
        '{"user_profile": "Alex", "preferences": [], "ongoing_topics": [], "key_history": []}',
    ],
)
def test_malformed_base_memory_is_rejected(reply: str) -> None:
    with pytest.raises(InvalidReply):
        parse_base_memory(reply)


def test_answer_prompt_has_memories_at_end_of_rules() -> None:
    conversation = (
        ChatMessage("user", "hi"),
        ChatMessage("assistant", "hello"),
        ChatMessage("user", "who am I?"),
    )

    prompt = build_answer_prompt("<memory>\n- Alex\n</memory>", conversation, date(2024, 5, 1))

    assert prompt.messages[1:] == conversation
    assert prompt.messages[0].content.endswith(f"{MEMORY_HEADING}\n<memory>\n- Alex\n</memory>")
    assert "2024-05-01" in prompt.messages[0].content
    assert prompt.schema is None


def test_answer_prompt_states_that_memory_is_empty() -> None:
    prompt = build_answer_prompt("", (), date(2024, 5, 1))

    assert MEMORY_HEADING not in prompt.messages[0].content
    assert "holds nothing" in prompt.messages[0].content
