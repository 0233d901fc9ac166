"""Import of ChatGPT's export."""

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


def make_node(
    role: str,
    parts: list[Any],
    parent: str | None,
    at: float | None = 1_700_000_000.0,
    **more: Any,
) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": parts})
    message = {"author": {"role": role}, "content": content, "create_time": at, **more}
    return {"message": message, "parent": parent, "children": []}


def make_conversation(mapping: dict[str, Any], current: str | None, **more: Any) -> dict[str, Any]:
    root = {"root": {"message": None, "parent": None}}
    return {
        "conversation_id": "c1",
        "mapping": {**root, **mapping},
        "current_node": current,
        **more,
    }


def read_transcripts(*conversations: Any) -> list[Transcript]:
    return list(read_chatgpt(io.BytesIO(json.dumps(conversations).encode()), "conversations.json"))


def read_texts(mapping: dict[str, Any], current: str | None) -> list[str]:
    return [
        message.content
        for each in read_transcripts(make_conversation(mapping, current))
        for message in each.messages
    ]


def test_messages_have_role_time_and_own_ids() -> None:
    mapping = {
        "n1": make_node("user", ["Hi"], "root", id="m1"),
        "n2": make_node("assistant", ["Hello"], "n1", at=1_700_000_060.5),
    }
    (transcript,) = read_transcripts(make_conversation(mapping, "n2"))
    first, second = transcript.messages
    assert transcript.session_id == "chatgpt:c1"
    assert (first.role, first.content, first.external_id) == (Role.USER, "Hi", "m1")
    assert first.at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (second.role, second.external_id) == (Role.ASSISTANT, "n2")


def test_only_branch_of_current_node_is_read() -> None:
    mapping = {
        "n1": make_node("user", ["Question"], "root"),
        "n2": make_node("assistant", ["First answer"], "n1"),
        "n3": make_node("assistant", ["Second answer"], "n1"),
        "n4": make_node("user", ["Thanks"], "n3"),
    }
    assert read_texts(mapping, "n4") == ["Question", "Second answer", "Thanks"]


def test_newest_branch_is_read_without_current_node() -> None:
    mapping = {
        "n1": make_node("user", ["Question"], "root"),
        "n2": make_node("assistant", ["Old"], "n1", at=1.0),
        "n3": make_node("assistant", ["New"], "n1", at=2.0),
    }
    assert read_texts(mapping, None) == ["Question", "New"]


def test_hidden_messages_are_skipped() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    mapping = {
        "a": make_node("system", ["You are helpful"], "root"),
        "b": make_node("user", ["hidden"], "a", metadata=hidden),
        "c": make_node("assistant", ["weightless"], "b", weight=0.0),
        "d": make_node("assistant", ['{"query": 1}'], "c", recipient="browser"),
        "e": make_node("tool", ["result"], "d"),
        "f": make_node("assistant", [], "e", content={"content_type": "thoughts", "text": "hm"}),
        "g": make_node("user", [""], "f"),
        "h": make_node("assistant", ["answer"], "g", recipient="all"),
        "i": make_node("critic", ["other"], "h"),
        "j": {"message": None, "parent": "i"},
    }
    assert read_texts(mapping, "j") == ["result", "answer"]


def test_pictures_code_and_transcripts_become_text() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    spoken = {"content_type": "audio_transcription", "text": "said aloud"}
    mapping = {
        "a": make_node(
            "user", [picture, "what is it?", spoken, {"content_type": "new"}, 7], "root"
        ),
        "b": make_node("tool", [], "a", content={"content_type": "execution_output", "text": "42"}),
        "c": make_node(
            "tool", [], "b", content={"content_type": "tether_browsing", "result": "web"}
        ),
        "d": make_node("user", [], "c", content=None),
    }
    assert read_texts(mapping, "d") == ["[image]\nwhat is it?\nsaid aloud", "42", "web"]


def test_message_without_time_takes_previous_time() -> None:
    mapping = {
        "a": make_node("user", ["1"], "root", at=None),
        "b": make_node("assistant", ["2"], "a", at=1_700_000_000.0),
        "c": make_node("user", ["3"], "b", at=None),
        "d": make_node("user", ["4"], "c", at=1e18),
    }
    (transcript,) = read_transcripts(make_conversation(mapping, "d", create_time=1.0))
    times = [message.at and message.at.timestamp() for message in transcript.messages]
    assert times == [1.0, 1_700_000_000.0, 1_700_000_000.0, 1_700_000_000.0]


def test_conversation_without_messages_is_skipped() -> None:
    assert read_transcripts(make_conversation({}, "root"), make_conversation({}, None)) == []


@check_each(
    ("element", "problem"),
    [
        ({"mapping": {}}, "has no id"),
        ({"conversation_id": "c"}, "mapping"),
        (
            make_conversation(
                {"a": make_node("user", ["x"], "b"), "b": make_node("user", ["y"], "a")}, "a"
            ),
            "cycle",
        ),
        ([], "expected `object`"),
    ],
)
def test_malformed_conversation_is_reported_with_line(element: Any, problem: str) -> None:
    data = ("[\n" + json.dumps(element) + "]").encode()
    with pytest.raises(InvalidInput) as caught:
        list(read_chatgpt(io.BytesIO(data), "conversations.json"))
    assert caught.value.field == "conversations.json:2"
    assert problem in caught.value.problem
