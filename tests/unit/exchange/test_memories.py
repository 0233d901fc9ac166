"""Memories in files of other programs."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memolith import Memolith
from memolith.domain.memories import Origin
from memolith.domain.reports import AuditEntry
from memolith.errors import InvalidInput
from memolith.import_export import jsonl
from memolith.import_export.memories import MemoryFormat, detect_format, read_memories
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.rows import check_each

MEM0 = {
    "results": [
        {
            "id": "0196",
            "memory": "Likes tea",
            "hash": "9c",
            "metadata": {"a": 1},
            "created_at": "2025-05-01T10:00:00-07:00",
            "user_id": "alice",
            "role": "user",
        },
        {"id": 2, "data": "Lives in Oslo", "score": None},
    ],
    "relations": [],
}
ENTRIES = [AuditEntry("0196", "Likes tea", None, Origin.USER), AuditEntry("2", "Lives in Oslo")]


def read_entries(content: str | bytes, format_: MemoryFormat | None = None) -> list[AuditEntry]:
    data = content.encode() if isinstance(content, str) else content
    return list(read_memories(io.BytesIO(data), "m", format_))


@check_each("indent", [None, 2])
@check_each("given", [MEM0, MEM0["results"], {"memories": MEM0["results"]}])
def test_mem0_export_is_read_in_any_wrapper(given: Any, indent: int | None) -> None:
    assert read_entries(json.dumps(given, indent=indent)) == ENTRIES
    assert read_entries("\ufeff" + json.dumps(given, indent=indent), "mem0") == ENTRIES


def test_lines_are_read_under_common_field_names() -> None:
    lines = [
        '"Likes tea"',
        '{"content": "Likes jazz", "id": "x", "key": "music", "origin": "assistant"}',
        '{"text": "Likes rain"}',
        "",
        '{"type": "memory", "content": "Likes snow"}',
        '{"type": "message", "content": "Hello!", "speaker": "Ann"}',
    ]
    assert read_entries("\n".join(lines)) == [
        AuditEntry("m:1", "Likes tea"),
        AuditEntry("x", "Likes jazz", "music", Origin.ASSISTANT),
        AuditEntry("m:3", "Likes rain"),
        AuditEntry("m:5", "Likes snow"),
    ]


def make_export(text: str, key: str) -> bytes:
    """Return the output of `memolith export` for one memory."""
    clock = SettableClock(datetime(2025, 1, 1, tzinfo=UTC))
    with Memolith.open(":memory:", embedder=HashingEmbedder(), tokens=WordCounter()) as memory:
        owner = memory.owner("alice")
        owner.remember(text, key=key)
        return b"".join(jsonl.write_export(owner.export(), "alice", clock.now()))


def test_only_active_memories_of_own_export_are_read() -> None:
    clock = SettableClock(datetime(2025, 1, 1, tzinfo=UTC))
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(), clock=clock, tokens=WordCounter()
    ) as memory:
        owner = memory.owner("alice")
        owner.learn("Hello!", "Hi!")
        active = owner.remember("Likes tea", key="tea", origin="tool")
        owner.supersede(owner.remember("Likes milk").id, active.id)
        lines = b"".join(jsonl.write_export(owner.export(), "alice", clock.now()))
    assert read_entries(lines) == [AuditEntry(active.id, "Likes tea", "tea", Origin.TOOL)]


@check_each(
    ("content", "form"),
    [
        ("", "jsonl"),
        ("[]", "mem0"),
        ('{"results": []}', "mem0"),
        ('{\n "results": []}', "mem0"),
        ('{"content": "a"}', "jsonl"),
        ('{"content": broken}', "jsonl"),
        ('"a"', "jsonl"),
        (
            (
                '{"type": "memolith", "version": 1, "owner": "a",'
                ' "exported_at": "2025-01-01T00:00:00Z"}'
            ),
            "memolith",
        ),
    ],
)
def test_format_is_detected_from_beginning_of_file(content: str, form: str) -> None:
    assert detect_format(io.BytesIO(content.encode())) == form


@check_each(
    ("content", "field", "problem"),
    [
        ('"a"\n{"content": "b"\n', "m:2", "truncated"),
        ('"a"\n{"content": 3}\n', "m:2", "expected `str | null`"),
        ('"a"\n\n{"id": "x"}\n', "m:3", "has no text"),
        ('"a"\n17\n', "m:2", "expected"),
        ("not JSON", "m:1", "JSON"),
        (b'"a"\n"\xff"', "m:2", "UTF-8"),
        ("[" * 100_000, "m:1", "nested too deeply"),
        ('"a"\n' + '{"a":' * 100_000, "m:2", "nested|truncated"),
        ('[{"memory": "a"},\n {"memory": 1}]', "m:2", "expected `str | null`"),
        ('[{"memory": "a"},\n {"id": 1}]', "m:2", "has no text"),
        ('[{"memory": "a"}', "m:1", "is incomplete"),
        ('{\n"results": [\n{"memory": "a",}]}', "m:3", "property name"),
        ('{\n"results": "a"}', "m", "has no list"),
        ('{\n"results": [{"memory": "a"}, 3]}', "m, memory 2", "expected `object`"),
        ('{\n"results": ' + "[" * 100_000, "m", "nested too deeply"),
        ('{\n"results": [' + "9" * 5_000 + "]}", "m", "too many digits"),
        (b'{\n"results": ["\xff"]}', "m", "UTF-8"),
    ],
)
def test_invalid_content_is_reported_with_line(
    content: str | bytes, field: str, problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        read_entries(content)
    assert caught.value.field == field


REMARK = "My password is hunter2-and-more"


@check_each("format_", ["mem0", "jsonl", "memolith"])
def test_secrets_are_redacted_from_entries(format_: MemoryFormat) -> None:
    plain = "My password is [REDACTED]"
    (entry,) = read_entries(json.dumps(REMARK))
    assert entry.text == plain
    item = {"id": REMARK, "key": REMARK, "content": REMARK}
    lines = {
        "mem0": json.dumps([item]).encode(),
        "jsonl": json.dumps(item).encode(),
        "memolith": make_export("Likes tea", key="tea").replace(b"Likes tea", REMARK.encode()),
    }
    (entry,) = read_entries(lines[format_], format_)
    assert entry.text == plain
    assert (entry.id, entry.key) == (plain, plain) or format_ == "memolith"
