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


def test_an_owner_is_audited(memolith: Any) -> None:
    for text in ("Likes tea", "Thanks a lot!"):
        memolith.ok("remember", text)
    told = memolith.ok("audit").out
    assert "2 memories of tester" in told
    assert "Thanks a lot!" in told
    assert "50.0 %" in told
    assert "Likes tea" not in told
    assert memolith.json("audit")["filler"]["count"] == 1
    assert memolith.ok("audit", "--owner", "nobody").out == "0 memories of nobody\n"


def test_a_file_is_audited_and_no_store_is_made(memolith: Any, file: Path, tmp_path: Path) -> None:
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


def test_lines_come_by_standard_input_too(memolith: Any) -> None:
    lines = "\n".join(json.dumps(text) for text in MEMORIES)
    audit = memolith.json("audit", "-", "--format", "jsonl", stdin=lines)
    assert audit["filler"]["ids"] == ["standard input:3"]


def test_what_export_writes_is_read(memolith: Any, tmp_path: Path) -> None:
    memolith.ok("remember", "Thanks!")
    path = tmp_path / "all.jsonl"
    path.write_text(memolith.ok("export").out)
    assert memolith.json("audit", str(path))["filler"]["count"] == 1


@pytest.mark.parametrize(
    ("limit", "code"), [("59%", 16), ("60%", 0), ("0.6", 0), ("0", 16), ("100 %", 0)]
)
def test_too_much_junk_can_fail(memolith: Any, file: Path, limit: str, code: int) -> None:
    answer = memolith("audit", str(file), "--no-model", "--fail-above", limit)
    assert answer.code == code
    assert ("junk share 60.0 %" in answer.err) == bool(code)


@pytest.mark.parametrize("limit", ["5", "-1%", "five", "101%", "nan"])
def test_what_is_no_share_is_refused(memolith: Any, file: Path, limit: str) -> None:
    answer = memolith("audit", str(file), "--fail-above", limit)
    assert answer.code == 2
    assert "such as 5% or 0.05" in answer.err


def test_without_a_model_nothing_is_compared(memolith: Any, file: Path) -> None:
    assert memolith.json("audit", str(file), "--no-model")["near"] is None
    assert memolith.json("audit", str(file))["compared"] == 2


def test_so_many_examples_are_shown_as_asked_for(memolith: Any, tmp_path: Path) -> None:
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
def test_a_file_of_another_form_names_the_line(
    memolith: Any, tmp_path: Path, content: bytes, where: str
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(content)
    answer = memolith("audit", str(path))
    assert answer.code == 2
    assert f"{path}{where}" in answer.err


def test_a_file_that_is_not_there_is_an_error(memolith: Any) -> None:
    assert memolith("audit", "nowhere.json").code == 2


def test_what_a_terminal_would_obey_is_shown(memolith: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps("My name is \u001b[31m the") + "\n")
    assert "\u001b" not in memolith.ok("audit", str(path)).out


def test_examples_stand_with_their_ids_whatever_the_width(memolith: Any, tmp_path: Path) -> None:
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


def test_more_than_is_shown_is_counted(memolith: Any, tmp_path: Path) -> None:
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
def test_what_can_not_be_read_says_why(
    memolith: Any, tmp_path: Path, content: bytes, format_: str, problem: str
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(content)
    answer = memolith("audit", str(path), "--format", format_)
    assert answer.code == 2
    assert problem in answer.err


def test_a_named_pipe_is_read(memolith: Any, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('"Likes tea"\n"likes tea!"\n',))
    writer.start()
    assert memolith.json("audit", str(path), "--no-model")["duplicates"]["count"] == 1
    writer.join()
