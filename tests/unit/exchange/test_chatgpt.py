"""ChatGPT's export."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memolith.domain.messages import Role
from memolith.errors import InvalidInput
from memolith.import_export.chats import read_chatgpt
from memolith.import_export.records import Transcript
from support.rows import check_each


def node(
    role: str,
    parts: list[Any],
    parent: str | None,
    at: float | None = 1_700_000_000.0,
    **more: Any,
) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": parts})
    said = {"author": {"role": role}, "content": content, "create_time": at, **more}
    return {"message": said, "parent": parent, "children": []}


def conversation(mapping: dict[str, Any], current: str | None, **more: Any) -> dict[str, Any]:
    root = {"root": {"message": None, "parent": None}}
    return {
        "conversation_id": "c1",
        "mapping": {**root, **mapping},
        "current_node": current,
        **more,
    }


def parsed(*conversations: Any) -> list[Transcript]:
    return list(read_chatgpt(io.BytesIO(json.dumps(conversations).encode()), "conversations.json"))


def texts(mapping: dict[str, Any], current: str | None) -> list[str]:
    return [
        message.content
        for each in parsed(conversation(mapping, current))
        for message in each.messages
    ]


def test_messages_come_with_role_time_and_their_own_ids() -> None:
    mapping = {
        "n1": node("user", ["Hi"], "root", id="m1"),
        "n2": node("assistant", ["Hello"], "n1", at=1_700_000_060.5),
    }
    (transcript,) = parsed(conversation(mapping, "n2"))
    first, second = transcript.messages
    assert transcript.session_id == "chatgpt:c1"
    assert (first.role, first.content, first.external_id) == (Role.USER, "Hi", "m1")
    assert first.at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (second.role, second.external_id) == (Role.ASSISTANT, "n2")


def test_only_the_branch_of_the_current_node_counts() -> None:
    mapping = {
        "n1": node("user", ["Question"], "root"),
        "n2": node("assistant", ["First answer"], "n1"),
        "n3": node("assistant", ["Second answer"], "n1"),
        "n4": node("user", ["Thanks"], "n3"),
    }
    assert texts(mapping, "n4") == ["Question", "Second answer", "Thanks"]


def test_without_a_current_node_the_newest_branch_counts() -> None:
    mapping = {
        "n1": node("user", ["Question"], "root"),
        "n2": node("assistant", ["Old"], "n1", at=1.0),
        "n3": node("assistant", ["New"], "n1", at=2.0),
    }
    assert texts(mapping, None) == ["Question", "New"]


def test_what_the_page_does_not_show_is_left_out() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    mapping = {
        "a": node("system", ["You are helpful"], "root"),
        "b": node("user", ["hidden"], "a", metadata=hidden),
        "c": node("assistant", ["weightless"], "b", weight=0.0),
        "d": node("assistant", ['{"query": 1}'], "c", recipient="browser"),
        "e": node("tool", ["result"], "d"),
        "f": node("assistant", [], "e", content={"content_type": "thoughts", "text": "hm"}),
        "g": node("user", [""], "f"),
        "h": node("assistant", ["answer"], "g", recipient="all"),
        "i": node("critic", ["other"], "h"),
        "j": {"message": None, "parent": "i"},
    }
    assert texts(mapping, "j") == ["result", "answer"]


def test_pictures_code_and_transcripts_become_text() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    spoken = {"content_type": "audio_transcription", "text": "said aloud"}
    mapping = {
        "a": node("user", [picture, "what is it?", spoken, {"content_type": "new"}, 7], "root"),
        "b": node("tool", [], "a", content={"content_type": "execution_output", "text": "42"}),
        "c": node("tool", [], "b", content={"content_type": "tether_browsing", "result": "web"}),
        "d": node("user", [], "c", content=None),
    }
    assert texts(mapping, "d") == ["[image]\nwhat is it?\nsaid aloud", "42", "web"]


def test_a_message_without_a_time_has_that_of_the_one_before() -> None:
    mapping = {
        "a": node("user", ["1"], "root", at=None),
        "b": node("assistant", ["2"], "a", at=1_700_000_000.0),
        "c": node("user", ["3"], "b", at=None),
        "d": node("user", ["4"], "c", at=1e18),
    }
    (transcript,) = parsed(conversation(mapping, "d", create_time=1.0))
    times = [message.at and message.at.timestamp() for message in transcript.messages]
    assert times == [1.0, 1_700_000_000.0, 1_700_000_000.0, 1_700_000_000.0]


def test_a_conversation_without_messages_is_left_out() -> None:
    assert parsed(conversation({}, "root"), conversation({}, None)) == []


@check_each(
    ("element", "problem"),
    [
        ({"mapping": {}}, "has no id"),
        ({"conversation_id": "c"}, "mapping"),
        (
            conversation({"a": node("user", ["x"], "b"), "b": node("user", ["y"], "a")}, "a"),
            "cycle",
        ),
        ([], "expected `object`"),
    ],
)
def test_what_is_no_conversation_is_an_error_with_its_line(element: Any, problem: str) -> None:
    data = ("[\n" + json.dumps(element) + "]").encode()
    with pytest.raises(InvalidInput) as caught:
        list(read_chatgpt(io.BytesIO(data), "conversations.json"))
    assert caught.value.field == "conversations.json:2"
    assert problem in caught.value.problem
