"""`memolith import` and `memolith export`."""

from __future__ import annotations

import json
import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memolith.cli.commands import transfer
from memolith.testing.fakes import SettableClock

LOCOMO = [
    {
        "sample_id": name,
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I went to the support group"},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "How was it?"},
            ],
        },
        "qa": [
            {
                "question": "Where did Ann go?",
                "answer": "support group",
                "category": 4,
                "evidence": ["D1:1"],
            }
        ],
    }
    for name in ("conv-1", "conv-2")
]

BEAM = [
    {
        "id": "100K/1",
        "messages": [
            {
                "id": 0,
                "batch": 1,
                "role": "user",
                "time_anchor": "March-15-2024",
                "content": "Plan my tasks",
            },
            {
                "id": 1,
                "batch": 1,
                "role": "assistant",
                "time_anchor": None,
                "content": "Here it is",
            },
        ],
        "questions": [],
    }
]

CLAUDE = [
    {
        "uuid": "c1",
        "created_at": "2024-05-08T13:56:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "My name is Alice",
                "created_at": "2024-05-08T13:56:00Z",
            },
            {
                "uuid": "m2",
                "sender": "assistant",
                "text": "Hello Alice",
                "created_at": "2024-05-08T13:57:00Z",
            },
        ],
    }
]

CHATGPT = [
    {
        "conversation_id": "c1",
        "current_node": "b",
        "mapping": {
            "a": {
                "parent": None,
                "message": {
                    "author": {"role": "user"},
                    "content": {"content_type": "text", "parts": ["I live in Oslo"]},
                    "create_time": 1_700_000_000.0,
                },
            },
            "b": {
                "parent": "a",
                "message": {
                    "author": {"role": "assistant"},
                    "content": {"content_type": "text", "parts": ["Nice"]},
                    "create_time": 1_700_000_001.0,
                },
            },
        },
    }
]

LINES = """\
{"session": "s1", "id": "m1", "speaker": "Ann", "content": "The key is blue"}
{"session": "s1", "id": "m2", "speaker": "Bob", "content": "I have it"}
{"type": "memory", "content": "Prefers metric units", "kind": "preference", "key": "units"}
"""


def file_of(value: Any, name: str = "file.json") -> str:
    Path(name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


@pytest.mark.parametrize(
    ("format_", "value", "messages", "memories"),
    [
        ("locomo", LOCOMO, 4, 0),
        ("beam", BEAM, 2, 0),
        ("claude", CLAUDE, 2, 1),
        ("chatgpt", CHATGPT, 2, 1),
        ("jsonl", LINES, 2, 1),
    ],
)
def test_a_second_import_adds_nothing(
    memolith: Any, clock: SettableClock, format_: str, value: Any, messages: int, memories: int
) -> None:
    file = file_of(value)
    first = memolith.json("import", format_, file)
    assert (first["messages"], first["memories"], first["duplicates_skipped"]) == (
        messages,
        memories,
        0,
    )
    stats = memolith.json("stats")
    clock.advance(timedelta(hours=1))
    second = memolith.json("import", format_, file)
    assert (second["messages"], second["memories"]) == (0, 0)
    assert second["duplicates_skipped"] >= messages
    del stats["usage"]  # of the hour that it is
    assert memolith.json("stats").items() >= stats.items()


def told(content: str, **fields: Any) -> str:
    return json.dumps({"type": "memory", "content": content, **fields}) + "\n"


def actions(memolith: Any, content: str) -> list[str]:
    (memory,) = (one for one in memolith.json("list")["memories"] if one["content"] == content)
    return [event["action"] for event in memolith.json("history", memory["id"])["events"]]


def test_a_memory_imported_again_leaves_no_trace(memolith: Any, clock: SettableClock) -> None:
    lines = told("Likes tea", tags=["drinks"]) + told("Prefers metric units", key="units")
    for origin in ([], ["--trusted"]):
        clock.advance(timedelta(hours=1))
        memolith.ok("import", "jsonl", file_of(lines), *origin)
        assert actions(memolith, "Likes tea") == ["remembered"]
        assert actions(memolith, "Prefers metric units") == ["remembered"]
    clock.advance(timedelta(hours=1))
    memolith.ok("import", "jsonl", file_of(told("Likes tea", tags=["herbs"])))
    assert actions(memolith, "Likes tea") == ["remembered", "restated"]


def test_an_old_line_does_not_bring_back_what_was_changed_since(memolith: Any) -> None:
    file = file_of(told("Prefers metric units", key="units"))
    memolith.ok("import", "jsonl", file)
    (memory,) = memolith.json("list")["memories"]
    memolith.ok("update", memory["id"], "Prefers nautical units")
    assert memolith.json("import", "jsonl", file)["duplicates_skipped"] == 1
    assert [one["content"] for one in memolith.json("list")["memories"]] == [
        "Prefers nautical units"
    ]


def test_an_imported_memory_does_not_take_the_users_key(memolith: Any) -> None:
    memolith.ok("remember", "Prefers metric units", "--key", "units")
    answer = memolith.json("import", "jsonl", file_of(told("Prefers imperial units", key="units")))
    assert (answer["memories"], len(answer["keys_dropped"])) == (1, 1)
    found = {
        one["content"]: (one["key"], one["origin"]) for one in memolith.json("list")["memories"]
    }
    assert found == {
        "Prefers metric units": ("units", "user"),
        "Prefers imperial units": (None, "import"),
    }


def test_a_line_is_the_users_own_word_only_where_the_file_is_trusted(memolith: Any) -> None:
    file = file_of(told("Likes tea", origin="user") + told("The tea is hot", origin="tool"))
    memolith.ok("import", "jsonl", file)
    assert {one["origin"] for one in memolith.json("list")["memories"]} == {"import", "tool"}
    memolith.ok("import", "jsonl", file, "--trusted")
    assert {one["origin"] for one in memolith.json("list")["memories"]} == {"user", "tool"}


def test_one_sample_of_a_data_set_is_taken(memolith: Any) -> None:
    out = memolith.ok("import", "locomo", file_of(LOCOMO), "--sample", "conv-2").out
    assert out == "Imported 2 messages of 1 conversation, 0 memories.\n"
    assert "D1:1" in memolith.ok("recall", "Where did Ann go?").out


def test_an_unknown_sample_is_told_the_known_ones(memolith: Any) -> None:
    answer = memolith("import", "locomo", file_of(LOCOMO), "--sample", "conv-3")
    assert answer.code == 2
    assert "conv-1, conv-2" in answer.err


def test_other_formats_have_no_samples(memolith: Any) -> None:
    assert memolith("import", "claude", file_of(CLAUDE), "--sample", "x").code == 2


def test_an_export_is_read_out_of_its_archive(memolith: Any) -> None:
    with zipfile.ZipFile("export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(CLAUDE))
    assert memolith.json("import", "claude", "export.zip")["messages"] == 2


def test_what_comes_before_a_bad_conversation_is_kept_and_said(memolith: Any) -> None:
    answer = memolith("import", "claude", file_of([*CLAUDE, {"uuid": "c2"}]))
    assert answer.code == 2
    assert answer.out == ""
    *_, stopped, problem = answer.err.splitlines()  # before them, where the keys are
    assert (
        stopped == "memolith: stopped after 2 messages of 1 conversation, 1 memory;"
        " imported records are kept"
    )
    assert "file.json:1: " in problem
    assert memolith.json("stats")["messages"] == 2


def test_an_interrupted_import_keeps_whole_batches(
    memolith: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = transfer.store_batch
    calls = []

    def interrupted(*args: Any) -> int:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return store(*args)

    monkeypatch.setattr("memolith.cli.commands.transfer.store_batch", interrupted)
    answer = memolith("import", "jsonl", file_of(LINES))
    assert answer.code == 130
    assert "stopped after 2 messages" in answer.err
    stats = memolith.json("stats")
    assert (stats["messages"], stats["total_count"]) == (2, 0)


def test_a_bad_line_stops_an_import_before_it_begins(memolith: Any) -> None:
    answer = memolith("import", "jsonl", file_of(LINES + "{"))
    assert answer.code == 2
    assert "file.json:4" in answer.err.splitlines()[-1]
    assert memolith.json("stats")["messages"] == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"content": " "}',
        '{"content": "x", "speaker": ""}',
        '{"type": "memory", "content": "x", "importance": 7}',
        '{"type": "memory", "content": "x", "tags": [""]}',
    ],
)
def test_a_line_with_a_bad_value_stops_it_too_and_is_named(memolith: Any, line: str) -> None:
    answer = memolith("import", "jsonl", file_of(LINES + line))
    assert answer.code == 2
    assert "file.json:4" in answer.err
    assert memolith.json("stats")["messages"] == 0


def test_a_message_that_says_nothing_is_passed_over_and_counted(memolith: Any) -> None:
    chat = json.loads(json.dumps(CHATGPT))
    chat[0]["mapping"]["b"]["message"]["content"]["parts"] = ["\u200b\x00"]
    answer = memolith.json("import", "chatgpt", file_of(chat))
    assert (answer["messages"], answer["messages_skipped"]) == (1, 1)
    assert "1 empty or too long" in memolith("import", "chatgpt", file_of(chat)).out


def test_a_missing_file_is_an_error(memolith: Any) -> None:
    for format_ in transfer.IMPORT_FORMATS:
        answer = memolith("import", format_, "none.json")
        assert answer.code == 2
        assert "none.json" in answer.err


def test_standard_input_is_read(memolith: Any) -> None:
    assert memolith.json("import", "jsonl", "-", stdin=LINES)["messages"] == 2
    assert memolith.json("import", "claude", "-", stdin=json.dumps(CLAUDE))["messages"] == 2


@pytest.fixture
def eventful(memolith: Any, clock: SettableClock) -> Any:
    """A memory in which much has happened."""

    def later(*args: str) -> Any:
        clock.advance(timedelta(days=1))
        return memolith.json(*args)

    memolith.ok("import", "jsonl", "-", stdin=LINES)
    later("learn", "My name is Alice. I live in Oslo.", "Hello Alice!", "--session", "s2")
    units = later("remember", "Prefers metric units, also for recipes", "--key", "units")["id"]
    job = later("remember", "Works at NASA", "--tag", "work", "--expires-in", "300d")["id"]
    new = later("remember", "Works at ESA", "--importance", "0.9")["id"]
    later("supersede", job, new)
    gone = later("remember", "Likes liver", "--kind", "preference")["id"]
    later("forget", gone)
    later("restore", gone)
    later("update", gone, "Likes liver with onions")
    later("forget", gone)
    later("update", units, "--tag", "style")
    later("recall", "Where does Alice work?")
    return memolith


def exported(memolith: Any, *options: str) -> list[Any]:
    return [json.loads(line) for line in memolith.ok("export", *options).out.splitlines()][1:]


def test_what_is_exported_comes_back_unchanged(eventful: Any) -> None:
    eventful.ok("export", "--output", "all.jsonl")
    before = exported(eventful)
    brought = eventful.json("import", "jsonl", "all.jsonl", "--store", "other.db")
    assert exported(eventful, "--store", "other.db") == before
    assert brought["memories"] == sum(line["type"] == "memory" for line in before)
    assert brought["messages"] == sum(line["type"] == "message" for line in before)
    for query in ("Where does Alice work?", "units", "liver", "the key", "name"):
        for options in ((), ("--as-of", "2026-03-06T13:00:00Z")):
            args = ("recall", query, "--no-touch", *options)
            assert eventful.json(*args, "--store", "other.db") == eventful.json(*args)


def test_bringing_it_back_twice_or_into_its_own_store_adds_nothing(eventful: Any) -> None:
    eventful.ok("export", "--output", "all.jsonl")
    before = exported(eventful)
    brought = eventful.json("import", "jsonl", "all.jsonl")
    assert (brought["messages"], brought["memories"], brought["duplicates_skipped"]) == (
        0,
        0,
        len(before),
    )
    assert exported(eventful) == before


def test_a_successor_may_come_batches_later_and_what_was_there_is_not_counted_twice(
    eventful: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "IMPORT_BATCH_SIZE", 1)
    eventful.ok("export", "--output", "all.jsonl")
    brought = eventful.json("import", "jsonl", "all.jsonl", "--store", "other.db")
    assert exported(eventful, "--store", "other.db") == exported(eventful)
    assert brought["duplicates_skipped"] == 0
    assert eventful.json("verify", "--store", "other.db")["findings"] == []


def test_what_a_forgotten_memory_superseded_is_exported_and_taken_in(eventful: Any) -> None:
    new = eventful.json("remember", "Works at CERN")["id"]
    old = eventful.json("remember", "Worked at ESO")["id"]
    eventful.ok("supersede", old, new)
    eventful.ok("forget", new)
    eventful.ok("export", "--output", "all.jsonl")
    eventful.ok("import", "jsonl", "all.jsonl", "--store", "other.db")
    assert eventful.json("verify", "--store", "other.db")["findings"] == []
    assert eventful.json("show", old, "--store", "other.db")["superseded_by"] is None


def test_a_forgotten_message_is_not_exported(eventful: Any) -> None:
    message = eventful.json("recall", "I have it")["memories"][0]["record"]["id"]
    eventful.ok("forget", message)
    assert "I have it" not in eventful.ok("export").out


def test_it_can_be_brought_to_another_owner(eventful: Any) -> None:
    eventful.ok("export", "--output", "all.jsonl")
    eventful.ok("import", "jsonl", "all.jsonl", "--owner", "bob")
    assert exported(eventful, "--owner", "bob") == exported(eventful)


def test_a_memory_whose_key_is_taken_comes_without_it(eventful: Any) -> None:
    eventful.ok("export", "--output", "all.jsonl")
    eventful.ok("remember", "Prefers imperial units", "--key", "units", "--owner", "bob")
    brought = eventful.json("import", "jsonl", "all.jsonl", "--owner", "bob")
    (unkeyed,) = brought["keys_dropped"]
    memory = eventful.json("show", unkeyed, "--owner", "bob")
    assert memory["content"] == "Prefers metric units, also for recipes"
    assert memory["key"] is None


def test_an_export_that_fails_leaves_the_old_file(
    eventful: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("all.jsonl").write_text("old")

    def broken(*_args: object) -> Any:
        yield b"new"
        raise KeyboardInterrupt

    monkeypatch.setattr("memolith.cli.commands.transfer.write_export", broken)
    assert eventful("export", "--output", "all.jsonl").code == 130
    assert Path("all.jsonl").read_text() == "old"
    assert not list(Path().glob(".memolith-*"))


@pytest.mark.sqlite
def test_what_is_no_file_is_written_to_and_stays(eventful: Any, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "linked.jsonl")
    eventful.ok("export", "--output", "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    whole = (tmp_path / "linked.jsonl").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as other:
        read = other.submit((tmp_path / "pipe").read_bytes)
        eventful.ok("export", "--output", "pipe")
        assert len(read.result(timeout=30)) == len(whole)
    assert (tmp_path / "pipe").is_fifo()
    answer = eventful("export", "--output", ".")
    assert (answer.code, "is a directory" in answer.err) == (2, True)


def test_a_folder_that_is_not_there_is_an_error(eventful: Any) -> None:
    answer = eventful("export", "--output", "none/all.jsonl")
    assert answer.code == 14
    assert "no such file or directory" in answer.err


def test_an_import_says_how_many_secrets_were_taken_out(memolith: Any) -> None:
    lines = LINES.replace("The key is blue", "password: tulip-4711-gate").replace(
        "Prefers metric units", "My password is tulip-4711-gate"
    )
    assert memolith.ok("import", "jsonl", file_of(lines)).out.endswith("; 2 secrets redacted.\n")
    assert memolith.json("import", "jsonl", file_of(lines))["redactions"] == 0
