"""Import of messages and memories, one for each line."""

import io
from datetime import UTC, datetime

import pytest

from memolith.domain.memories import Origin
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.import_export.jsonl import IMPORT_BATCH_SIZE, ImportedMemory, read_jsonl
from memolith.import_export.records import Transcript
from support.rows import check_each


def read_records(*lines: str) -> list[Transcript | ImportedMemory]:
    return list(read_jsonl(io.BytesIO("\n".join(lines).encode()), "file"))


def read_messages(*lines: str) -> list[Message]:
    found = read_records(*lines)
    return [message for each in found if isinstance(each, Transcript) for message in each.messages]


def test_message_has_every_field_of_its_line() -> None:
    (transcript,) = read_records(
        '{"type": "message", "session": "s1", "id": "m1", "speaker": "Ann", "role": "participant",'
        ' "at": "2024-05-08T13:56:00Z", "content": "Hi"}'
    )
    at = datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert transcript == Transcript("s1", (Message("Ann", "Hi", Role.PARTICIPANT, at, "m1"),))


def test_only_content_is_required() -> None:
    (transcript,) = read_records('{"content": "Hi"}')
    assert isinstance(transcript, Transcript)
    assert transcript.session_id == "import"
    assert transcript.messages[0].role is None


def test_memory_has_every_field_of_its_line() -> None:
    (memory,) = read_records('{"type": "memory", "content": "x", "kind": "fact", "tags": ["a"]}')
    assert memory == ImportedMemory(content="x", kind="fact", tags=("a",), origin=Origin.IMPORT)


def test_adjacent_lines_of_session_are_grouped_in_order() -> None:
    found = read_records(
        '{"session": "a", "content": "1"}',
        '{"session": "a", "content": "2"}',
        "",
        '{"session": "b", "content": "3"}',
        '{"type": "memory", "content": "m"}',
        '{"session": "b", "content": "4"}',
    )
    shape = [
        (each.session_id, [message.content for message in each.messages])
        if isinstance(each, Transcript)
        else each.content
        for each in found
    ]
    assert shape == [("a", ["1", "2"]), ("b", ["3"]), "m", ("b", ["4"])]


def test_long_session_is_split_into_batches() -> None:
    found = read_records(*(f'{{"content": "{number}"}}' for number in range(IMPORT_BATCH_SIZE + 1)))
    sizes = [len(each.messages) for each in found if isinstance(each, Transcript)]
    assert sizes == [IMPORT_BATCH_SIZE, 1]


def test_generated_ids_are_stable_and_unique_for_repetitions() -> None:
    lines = ['{"content": "yes"}', '{"content": "yes"}', '{"content": "no"}']
    first = [message.external_id for message in read_messages(*lines)]
    assert len(set(first)) == 3
    assert (
        first
        == [message.external_id for message in read_messages(*lines, '{"content": "more"}')][:3]
    )


@check_each(
    ("line", "problem"),
    [
        ("{", "truncated"),
        ("[]", "expected `object`"),
        ('{"speaker": "Ann"}', "content"),
        ('{"content": "x", "text": "y"}', "unknown field `text`"),
        ('{"content": 5}', "expected `str`"),
        ('{"content": "x", "role": "king"}', "king"),
        ('{"content": "x", "at": "2024-05-08T13:56:00"}', "zone"),
        ('{"type": "memory", "content": "x", "happened_at": "2024-05-08T13:56:00"}', "zone"),
        ('{"content": "x", "at": "0001-01-01T00:00:00+10:00"}', "out of range"),
        ('{"type": "memory", "content": "x", "owner": "y"}', "unknown field `owner`"),
        ('{"type": "dream", "content": "x"}', "type 'dream' is not one of message, memory"),
        ('{"content": "\udcff"}', "utf-8"),
        ('{"x":' * 100_000, "too deeply"),
    ],
)
def test_invalid_line_is_named_before_anything_is_yielded(line: str, problem: str) -> None:
    data = b'{"content": "good"}\n\n' + line.encode("utf-8", "surrogateescape")
    reading = read_jsonl(io.BytesIO(data), "file")
    with pytest.raises(InvalidInput) as caught:
        next(reading)
    assert caught.value.field == "file:3"
    assert problem in caught.value.problem.casefold()
