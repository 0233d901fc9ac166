"""Claude's export."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memolith.domain.messages import Role
from memolith.errors import InvalidInput
from memolith.import_export.chats import read_claude
from memolith.import_export.records import Transcript


def said(uuid: str, sender: str, text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "sender": sender,
        "text": text,
        "created_at": "2024-05-08T13:56:00Z",
        **more,
    }


def parsed(*messages: dict[str, Any]) -> list[Transcript]:
    conversation = {"uuid": "c1", "created_at": "2024-05-01T00:00:00Z", "chat_messages": messages}
    return list(read_claude(io.BytesIO(json.dumps([conversation]).encode()), "conversations.json"))


def test_messages_come_with_role_time_and_their_own_ids() -> None:
    (transcript,) = parsed(said("m1", "human", "Hi"), said("m2", "assistant", "Hello"))
    first, second = transcript.messages
    assert transcript.session_id == "claude:c1"
    assert (first.role, first.content, first.external_id) == (Role.USER, "Hi", "m1")
    assert first.at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert second.role == Role.ASSISTANT


def test_text_blocks_are_kept_and_tools_and_thoughts_are_not() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "text": "hm"},
        {"type": "text", "text": "One."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "Two."},
        {"type": "text", "text": None},
    ]
    (transcript,) = parsed(said("m", "assistant", "One. Two.", content=content))
    assert transcript.messages[0].content == "One.\nTwo."


def test_attachments_are_named() -> None:
    files = {"attachments": [{"file_name": "a.txt"}], "files": [{"file_name": "b.png"}, {}]}
    (transcript,) = parsed(said("m", "human", "See", **files))
    assert (
        transcript.messages[0].content
        == "See\n[attached: a.txt]\n[attached: b.png]\n[attached: file]"
    )


def test_empty_messages_and_conversations_are_left_out() -> None:
    assert parsed() == []
    assert parsed(said("m", "human", " ")) == []


def test_a_time_without_a_zone_is_utc_and_a_missing_one_that_of_the_conversation() -> None:
    (transcript,) = parsed(
        said("a", "human", "x", created_at=None),
        said("b", "human", "y", created_at="2024-05-08T13:56:00"),
    )
    assert [message.at for message in transcript.messages] == [
        datetime(2024, 5, 1, tzinfo=UTC),
        datetime(2024, 5, 8, 13, 56, tzinfo=UTC),
    ]


def test_an_unknown_sender_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="unknown sender 'robot'"):
        parsed(said("m", "robot", "x"))


def test_another_form_is_an_error_with_its_line() -> None:
    with pytest.raises(InvalidInput, match=r"conversations.json:1: .*chat_messages"):
        list(read_claude(io.BytesIO(b'[{"uuid": "c"}]'), "conversations.json"))
