"""Import of Claude's export."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memolith.domain.messages import Role
from memolith.errors import InvalidInput
from memolith.import_export.chats import read_claude
from memolith.import_export.records import Transcript


def make_message(uuid: str, sender: str, text: str = "", **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "sender": sender,
        "text": text,
        "created_at": "2024-05-08T13:56:00Z",
        **more,
    }


def read_transcripts(*messages: dict[str, Any]) -> list[Transcript]:
    conversation = {"uuid": "c1", "created_at": "2024-05-01T00:00:00Z", "chat_messages": messages}
    return list(read_claude(io.BytesIO(json.dumps([conversation]).encode()), "conversations.json"))


def test_messages_have_role_time_and_own_ids() -> None:
    (transcript,) = read_transcripts(
        make_message("m1", "human", "Hi"), make_message("m2", "assistant", "Hello")
    )
    first, second = transcript.messages
    assert transcript.session_id == "claude:c1"
    assert (first.role, first.content, first.external_id) == (Role.USER, "Hi", "m1")
    assert first.at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert second.role == Role.ASSISTANT


def test_only_text_blocks_are_imported() -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "text": "hm"},
        {"type": "text", "text": "One."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "Two."},
        {"type": "text", "text": None},
    ]
    (transcript,) = read_transcripts(make_message("m", "assistant", "One. Two.", content=content))
    assert transcript.messages[0].content == "One.\nTwo."


def test_attachments_are_named() -> None:
    files = {"attachments": [{"file_name": "a.txt"}], "files": [{"file_name": "b.png"}, {}]}
    (transcript,) = read_transcripts(make_message("m", "human", "See", **files))
    assert (
        transcript.messages[0].content
        == "See\n[attached: a.txt]\n[attached: b.png]\n[attached: file]"
    )


def test_empty_messages_and_conversations_are_skipped() -> None:
    assert read_transcripts() == []
    assert read_transcripts(make_message("m", "human", " ")) == []


def test_naive_time_is_utc_and_missing_time_is_conversations() -> None:
    (transcript,) = read_transcripts(
        make_message("a", "human", "x", created_at=None),
        make_message("b", "human", "y", created_at="2024-05-08T13:56:00"),
    )
    assert [message.at for message in transcript.messages] == [
        datetime(2024, 5, 1, tzinfo=UTC),
        datetime(2024, 5, 8, 13, 56, tzinfo=UTC),
    ]


def test_unknown_sender_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="unknown sender 'robot'"):
        read_transcripts(make_message("m", "robot", "x"))


def test_other_format_is_reported_with_line() -> None:
    with pytest.raises(InvalidInput, match=r"conversations.json:1: .*chat_messages"):
        list(read_claude(io.BytesIO(b'[{"uuid": "c"}]'), "conversations.json"))
