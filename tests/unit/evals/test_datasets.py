"""Dataset readers, on generated files."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memolith.domain.messages import Role
from memolith.errors import InvalidInput
from memolith.evals.datasets import read_beam, read_jsonl, read_locomo
from support.rows import check_each


def locomo_sample() -> dict[str, Any]:
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ines",
            "speaker_b": "Tom",
            "session_2_date_time": "12:09 am on 13 September, 2023",
            "session_2": [{"speaker": "Tom", "dia_id": "D2:1", "text": "I bought a kayak."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ines", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red hat"},
                {"speaker": "Tom", "dia_id": "D1:2", "text": "Nice.", "query": "ignored"},
            ],
            "session_3_date_time": "1:00 pm on 1 January, 2024",
        },
        "qa": [
            {
                "question": "What did Tom buy?",
                "answer": "a kayak",
                "evidence": ["D2:1; D1:2", "D2:1", "D9:9", "D"],
                "category": 1,
            },
            {"question": "When?", "answer": 2022, "evidence": [], "category": 2},
            {"question": "Who?", "adversarial_answer": "Tom", "evidence": ["D1:1"], "category": 5},
        ],
    }


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_locomo_sessions_are_ordered_with_increasing_times(tmp_path: Path) -> None:
    (conversation,) = read_locomo(write_json(tmp_path / "l.json", [locomo_sample()]))
    assert [session.id for session in conversation.sessions] == ["session_1", "session_2"]
    first, second, third = conversation.messages()
    assert first.at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert second.at == datetime(2023, 5, 8, 13, 56, 1, tzinfo=UTC)
    assert third.at == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)
    assert {message.role for message in (first, second, third)} == {Role.PARTICIPANT}


def test_picture_caption_is_part_of_text(tmp_path: Path) -> None:
    (conversation,) = read_locomo(write_json(tmp_path / "l.json", [locomo_sample()]))
    first = next(conversation.messages())
    assert "a red hat" in first.content
    assert "Look!" in first.content


def test_locomo_evidence_contains_every_existing_turn(tmp_path: Path) -> None:
    (conversation,) = read_locomo(write_json(tmp_path / "l.json", [locomo_sample()]))
    bought, when, who = conversation.questions
    assert bought.evidence == ("D2:1", "D1:2")
    assert bought.category == "multi-hop"
    assert (when.answer, when.evidence) == ("2022", ())
    assert (who.answer, who.category) == ("Tom", "adversarial")
    assert who.asked_at == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)


def beam_sample() -> dict[str, Any]:
    return {
        "id": "100K/7",
        "messages": [
            {"id": 0, "batch": 1, "role": "user", "time_anchor": None, "content": "Hello"},
            {
                "id": 1,
                "batch": 1,
                "role": "assistant",
                "time_anchor": "March-15-2024",
                "content": "Hi",
            },
            {
                "id": 2,
                "batch": 2,
                "role": "user",
                "time_anchor": "April-05-2024",
                "content": "Bye",
            },
            {"id": 3, "batch": 2, "role": "assistant", "time_anchor": "soon", "content": "Bye"},
        ],
        "questions": [
            {"type": "event_ordering", "question": "What?", "answer": None, "evidence": [2, 9, 2]},
            {"type": "abstention", "question": "Why?", "answer": "No", "evidence": []},
        ],
    }


def test_beam_batch_becomes_session(tmp_path: Path) -> None:
    (conversation,) = read_beam(write_json(tmp_path / "b.json", [beam_sample()]))
    assert conversation.session_of() == {
        "0": "batch_1",
        "1": "batch_1",
        "2": "batch_2",
        "3": "batch_2",
    }
    assert [message.role for message in conversation.messages()] == [
        Role.USER,
        Role.ASSISTANT,
        Role.USER,
        Role.ASSISTANT,
    ]
    assert all(message.speaker is None for message in conversation.messages())


def test_undated_beam_message_follows_previous_message(tmp_path: Path) -> None:
    (conversation,) = read_beam(write_json(tmp_path / "b.json", [beam_sample()]))
    assert [message.at for message in conversation.messages()] == [
        datetime(2024, 3, 15, tzinfo=UTC),
        datetime(2024, 3, 15, tzinfo=UTC),
        datetime(2024, 4, 5, tzinfo=UTC),
        datetime(2024, 4, 5, 0, 0, 1, tzinfo=UTC),
    ]


def test_beam_question_has_only_existing_evidence(tmp_path: Path) -> None:
    (conversation,) = read_beam(write_json(tmp_path / "b.json", [beam_sample()]))
    ordering, abstention = conversation.questions
    assert (ordering.evidence, ordering.answer) == (("2",), "")
    assert (abstention.evidence, abstention.category) == ((), "abstention")


MESSAGE = {
    "type": "message",
    "conversation": "c1",
    "session": "s1",
    "id": "m1",
    "speaker": "Ann",
    "at": "2024-05-08T15:56:00+02:00",
    "text": "I have a cat.",
}
QUESTION = {"type": "question", "conversation": "c1", "text": "What has Ann?", "evidence": ["m1"]}


def write_lines(path: Path, *records: object) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n\n", "utf-8")
    return path


def test_own_jsonl_file_is_read_line_by_line(tmp_path: Path) -> None:
    other = {**MESSAGE, "conversation": "c2"}
    first, second = read_jsonl(write_lines(tmp_path / "o.jsonl", MESSAGE, other, QUESTION))
    (message,) = first.messages()
    assert (message.external_id, message.role) == ("m1", Role.PARTICIPANT)
    assert message.at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    (question,) = first.questions
    assert question.evidence == ("m1",)
    assert question.asked_at == message.at
    assert second.questions == ()


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "o.jsonl", MESSAGE)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_jsonl(path)) == 1


def test_message_without_speaker_belongs_to_user(tmp_path: Path) -> None:
    (conversation,) = read_jsonl(write_lines(tmp_path / "o.jsonl", {**MESSAGE, "speaker": None}))
    assert next(conversation.messages()).role is Role.USER


@check_each(
    ("records", "place"),
    [
        ([MESSAGE, {"type": "message"}], "line 2"),
        ([{**MESSAGE, "at": "2024-05-08T13:56:00"}], "line 1, at"),
        ([{**MESSAGE, "at": "0001-01-01T00:00:00+10:00"}], "line 1, at"),
        ([{**MESSAGE, "role": "king"}], "line 1"),
        ([{**MESSAGE, "text": " "}], "line 1, text"),
        ([{**MESSAGE, "id": ""}], "line 1, id"),
        ([{**MESSAGE, "speaker": ""}], "line 1, speaker"),
        ([{**MESSAGE, "session": "a\nb"}], "line 1, session"),
        ([MESSAGE, {**QUESTION, "text": ""}], "line 2, text"),
        ([MESSAGE, {**QUESTION, "conversation": "c" * 300}], "line 2, conversation"),
        ([{**MESSAGE, "colour": "red"}], "line 1"),
        ([MESSAGE, {**QUESTION, "evidence": ["m9"]}], "line 2, evidence"),
        ([MESSAGE, MESSAGE], "o.jsonl"),
        (["text"], "line 1"),
    ],
)
def test_invalid_line_is_named(tmp_path: Path, records: list[object], place: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_jsonl(write_lines(tmp_path / "o.jsonl", *records))
    assert place in raised.value.field


@pytest.mark.parametrize("read", [read_locomo, read_beam, read_jsonl])
def test_missing_file_is_named(tmp_path: Path, read: Any) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.json") as raised:
        read(tmp_path / "nowhere.json")
    assert raised.value.field == str(tmp_path / "nowhere.json")


@check_each("read", [read_locomo, read_beam])
@check_each("content", [b"", b"[", b"{}", b'[{"id": 1}]', b"\xff", b"[" * 5_000])
def test_file_of_another_format_is_rejected(tmp_path: Path, read: Any, content: bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        read(path)
    assert raised.value.field.startswith(str(path))


def test_invalid_locomo_session_is_named(tmp_path: Path) -> None:
    sample = locomo_sample()
    sample["conversation"]["session_2_date_time"] = "yesterday"
    with pytest.raises(InvalidInput, match="yesterday") as raised:
        read_locomo(write_json(tmp_path / "l.json", [sample]))
    assert "session_2" in raised.value.field
    sample["conversation"]["session_2"] = [{"speaker": "Tom"}]
    with pytest.raises(InvalidInput) as raised:
        read_locomo(write_json(tmp_path / "l.json", [sample]))
    assert "session_2" in raised.value.field


def test_unknown_beam_role_is_named(tmp_path: Path) -> None:
    sample = beam_sample()
    sample["messages"][1]["role"] = "king"
    with pytest.raises(InvalidInput, match="king") as raised:
        read_beam(write_json(tmp_path / "b.json", [sample]))
    assert "message 1" in raised.value.field
