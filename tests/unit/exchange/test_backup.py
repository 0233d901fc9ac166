"""The output of `export` is read back unchanged."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.domain.memories import Action, Event, History, Memory, Origin, Source, State, Version
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput
from memolith.import_export import jsonl
from memolith.import_export.jsonl import ImportedMemory
from memolith.import_export.records import MemoryRecord, Record, SessionEnd
from support.rows import check_each

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)

TIMES = st.datetimes(timezones=st.just(UTC))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SHARES = st.floats(0.0, 1.0)

SOURCES = st.builds(Source, TEXTS, st.sampled_from(["message", "memory"]), st.none() | TEXTS)
MEMORIES = st.builds(
    Memory,
    id=st.just("m1"),
    owner_id=st.just("alice"),
    kind=TEXTS,
    content=TEXTS,
    created_at=TIMES,
    updated_at=TIMES,
    key=st.none() | TEXTS,
    summary=st.none() | TEXTS,
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    importance=st.just(0.5),
    strength=st.just(0.5),  # computed, and so not written
    access_count=st.integers(0, 9),
    accessed_at=st.none() | TIMES,
    happened_at=st.none() | TIMES,
    expires_at=st.none() | TIMES,
    state=st.sampled_from(State),
    superseded_by=st.none() | TEXTS,
    session_id=st.none() | TEXTS,
    sources=st.lists(SOURCES, max_size=2).map(tuple),
    compressed=st.booleans(),
    origin=st.sampled_from(Origin),
    version=st.integers(1, 9),
    previous_kind=st.none() | TEXTS,
)
EVENTS = st.builds(
    Event,
    st.just("m1"),
    st.sampled_from(Action),
    TIMES,
    TEXTS,
    st.integers(1, 9),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)
HISTORIES = st.builds(
    History,
    st.lists(st.builds(Version, MEMORIES, TIMES, st.none() | TIMES), min_size=1, max_size=3).map(
        tuple
    ),
    st.lists(EVENTS, max_size=3).map(tuple),
)
MESSAGES = st.builds(
    Message,
    st.none() | TEXTS,
    TEXTS,
    st.sampled_from(Role),
    TIMES,
    st.none() | TEXTS,
    TEXTS,
    TEXTS,
    st.integers(1, 99),
)
REMEMBERED = st.builds(
    ImportedMemory,
    content=TEXTS,
    kind=st.none() | TEXTS,
    tags=st.lists(TEXTS, max_size=2).map(tuple),
    expires_at=st.none() | TIMES,
    origin=st.sampled_from(Origin),
)
RECORDS = st.lists(
    REMEMBERED
    | MESSAGES
    | st.builds(SessionEnd, TEXTS, TIMES)
    | st.builds(MemoryRecord, MEMORIES, HISTORIES),
    max_size=4,
)


def write_records(records: list[Record | ImportedMemory]) -> bytes:
    return b"".join(jsonl.write_export(records, "alice", NOW))


def read_records(data: bytes, owner: str = "alice") -> list[Record | ImportedMemory]:
    return list(jsonl.read_export(io.BytesIO(data), "file", owner))


@given(RECORDS)
def test_records_survive_export_and_import(records: list[Record | ImportedMemory]) -> None:
    data = write_records(records)
    assert jsonl.is_export(io.BytesIO(data))
    assert read_records(data) == records
    assert data.count(b"\n") == len(records) + 1


def test_export_can_be_read_for_another_owner() -> None:
    memory = Memory(
        id="m", owner_id="alice", kind="fact", content="x", created_at=NOW, updated_at=NOW
    )
    history = History((Version(memory, NOW, None),), ())
    (record,) = read_records(write_records([MemoryRecord(memory, history)]), owner="bob")
    assert isinstance(record, MemoryRecord)
    assert record.memory.owner_id == "bob"
    assert record.history.versions[0].memory.owner_id == "bob"


@check_each("data", [b"", b"\n", b'{"content": "x"}', b"[]", b"{", b"\xff", b"[" * 9999])
def test_other_files_are_not_exports(data: bytes) -> None:
    file = io.BytesIO(data)
    assert not jsonl.is_export(file)
    assert file.tell() == 0


def test_newer_export_version_is_rejected() -> None:
    data = write_records([]).replace(b'"version":1', b'"version":2')
    with pytest.raises(InvalidInput, match="file:1: is an export of version 2"):
        read_records(data)


@check_each(
    ("line", "problem"),
    [
        (b"{", "truncated"),
        (b'{"type":"message"}', "missing required field"),
        (b'{"type":"dream"}', "dream"),
        (
            (
                b'{"type":"memory","id":"m","versions":[],"memory":{"kind":"k","content":"c",'
                b'"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}}'
            ),
            "has no version",
        ),
    ],
)
def test_invalid_line_is_named_before_any_record_is_yielded(line: bytes, problem: str) -> None:
    reading = jsonl.read_export(
        io.BytesIO(write_records([SessionEnd("s", NOW)]) + line), "file", "alice"
    )
    with pytest.raises(InvalidInput) as caught:
        next(reading)
    assert caught.value.field == "file:3"
    assert problem in caught.value.problem


def test_unstored_message_cannot_be_exported() -> None:
    with pytest.raises(InvalidInput, match="was never stored"):
        write_records([Message("Ann", "x")])
