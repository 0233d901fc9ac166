"""`memolith audit`."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

MEMORIES = ["Likes tea", "likes tea!", "Hello there!", "Lives in Oslo", "My name is"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mem0.json"
    items = [{"id": f"m{at}", "memory": text} for at, text in enumerate(MEMORIES)]
    path.write_text(json.dumps({"results": items}))
    return path


def test_audit_reports_filler_of_an_owner(memolith: Any) -> None:
    for text in ("Likes tea", "Thanks a lot!"):
        memolith.ok("remember", text)
    output = memolith.ok("audit").out
    assert "2 memories of tester" in output
    assert "Thanks a lot!" in output
    assert "50.0 %" in output
    assert "Likes tea" not in output
    assert memolith.json("audit")["filler"]["count"] == 1
    assert memolith.ok("audit", "--owner", "nobody").out == "0 memories of nobody\n"


def test_audit_of_file_creates_no_store(memolith: Any, file: Path, tmp_path: Path) -> None:
    audit = memolith.json("audit", str(file))
    assert (audit["memories"], audit["junk"]) == (5, 3)
    assert audit["duplicates"]["ids"] == ["m1"]
    assert audit["filler"]["ids"] == ["m2"]
    assert audit["fragments"]["ids"] == ["m4"]
    assert audit["duplicates"]["examples"] == [
        {
            "id": "m1",
            "text": "likes tea!",
            "reason": "the same words",
            "duplicate_of": "m0",
            "similarity": None,
        }
    ]
    assert list(tmp_path.rglob("*")) == [file]


def test_audit_reads_standard_input(memolith: Any) -> None:
    lines = "\n".join(json.dumps(text) for text in MEMORIES)
    audit = memolith.json("audit", "-", "--format", "jsonl", stdin=lines)
    assert audit["filler"]["ids"] == ["standard input:3"]


def test_audit_reads_an_export(memolith: Any, tmp_path: Path) -> None:
    memolith.ok("remember", "Thanks!")
    path = tmp_path / "all.jsonl"
    path.write_text(memolith.ok("export").out)
    assert memolith.json("audit", str(path))["filler"]["count"] == 1


@pytest.mark.parametrize(
    ("limit", "code"), [("59%", 16), ("60%", 0), ("0.6", 0), ("0", 16), ("100 %", 0)]
)
def test_audit_fails_above_the_junk_limit(memolith: Any, file: Path, limit: str, code: int) -> None:
    answer = memolith("audit", str(file), "--no-model", "--fail-above", limit)
    assert answer.code == code
    assert ("junk share 60.0 %" in answer.err) == bool(code)


@pytest.mark.parametrize("limit", ["5", "-1%", "five", "101%", "nan"])
def test_invalid_junk_limit_is_rejected(memolith: Any, file: Path, limit: str) -> None:
    answer = memolith("audit", str(file), "--fail-above", limit)
    assert answer.code == 2
    assert "such as 5% or 0.05" in answer.err


def test_no_model_option_skips_similarity_comparison(memolith: Any, file: Path) -> None:
    assert memolith.json("audit", str(file), "--no-model")["near"] is None
    assert memolith.json("audit", str(file))["compared"] == 2


def test_examples_option_limits_shown_examples(memolith: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('"Likes tea"\n' * 30)
    assert len(memolith.json("audit", str(path))["duplicates"]["examples"]) == 5
    assert (
        len(memolith.json("audit", str(path), "--examples", "20")["duplicates"]["examples"]) == 20
    )
    assert "Likes tea" not in memolith.ok("audit", str(path), "--examples", "0").out


@pytest.mark.parametrize(
    ("content", "where"),
    [(b'"a"\n{"content": 3}', ":2"), (b"\x00\x01", ":1"), (b'["a", ', ":1")],
)
def test_malformed_file_is_reported_with_its_line(
    memolith: Any, tmp_path: Path, content: bytes, where: str
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(content)
    answer = memolith("audit", str(path))
    assert answer.code == 2
    assert f"{path}{where}" in answer.err


def test_missing_file_is_a_usage_error(memolith: Any) -> None:
    assert memolith("audit", "nowhere.json").code == 2


def test_control_characters_in_memories_are_escaped(memolith: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps("My name is \u001b[31m the") + "\n")
    assert "\u001b" not in memolith.ok("audit", str(path)).out


def test_example_ids_are_not_cut_on_narrow_terminals(memolith: Any, tmp_path: Path) -> None:
    ids = ["0a9b6ad0-1f5e-4b8e-8d7c-6a2f9c1e4d11", "7c1d2e3f-4a5b-4c6d-9e8f-0a1b2c3d4e5f"]
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps([{"id": each, "memory": "Likes tea"} for each in ids]))
    lines = memolith.ok("audit", str(path), "--no-model").out.splitlines()
    at = lines.index("duplicates")
    assert [line.strip() for line in lines[at : at + 4]] == [
        "duplicates",
        "Likes tea",
        f"the same words: {ids[1]}",
        f"duplicate of {ids[0]}",
    ]
    assert max(map(len, lines[at:])) <= 80


def test_omitted_examples_are_counted(memolith: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('"Likes tea"\n' * 30)
    assert "duplicates, and 24 more" in memolith.ok("audit", str(path)).out


@pytest.mark.parametrize(
    ("content", "format_", "problem"),
    [
        (b'"Likes tea"\n', "memolith", "is not an export of Memolith"),
        ('"Likes tea"\n'.encode("utf-16"), "jsonl", "is UTF-16"),
        ('"Mag Haseln\u00fcsse"\n'.encode("latin-1"), "jsonl", ":1: is not UTF-8 text"),
    ],
)
def test_unreadable_file_is_reported_with_the_reason(
    memolith: Any, tmp_path: Path, content: bytes, format_: str, problem: str
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(content)
    answer = memolith("audit", str(path), "--format", format_)
    assert answer.code == 2
    assert problem in answer.err


def test_audit_reads_a_named_pipe(memolith: Any, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('"Likes tea"\n"likes tea!"\n',))
    writer.start()
    assert memolith.json("audit", str(path), "--no-model")["duplicates"]["count"] == 1
    writer.join()
