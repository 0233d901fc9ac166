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


def write_file(value: Any, name: str = "file.json") -> str:
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
def test_second_import_adds_nothing(
    memolith: Any, clock: SettableClock, format_: str, value: Any, messages: int, memories: int
) -> None:
    file = write_file(value)
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
    del stats["usage"]  # differs by the hour
    assert memolith.json("stats").items() >= stats.items()


def memory_line(content: str, **fields: Any) -> str:
    return json.dumps({"type": "memory", "content": content, **fields}) + "\n"


def get_actions(memolith: Any, content: str) -> list[str]:
    (memory,) = (one for one in memolith.json("list")["memories"] if one["content"] == content)
    return [event["action"] for event in memolith.json("history", memory["id"])["events"]]


def test_reimported_memory_adds_no_event(memolith: Any, clock: SettableClock) -> None:
    lines = memory_line("Likes tea", tags=["drinks"]) + memory_line(
        "Prefers metric units", key="units"
    )
    for origin in ([], ["--trusted"]):
        clock.advance(timedelta(hours=1))
        memolith.ok("import", "jsonl", write_file(lines), *origin)
        assert get_actions(memolith, "Likes tea") == ["remembered"]
        assert get_actions(memolith, "Prefers metric units") == ["remembered"]
    clock.advance(timedelta(hours=1))
    memolith.ok("import", "jsonl", write_file(memory_line("Likes tea", tags=["herbs"])))
    assert get_actions(memolith, "Likes tea") == ["remembered", "restated"]


def test_reimport_does_not_revert_a_later_change(memolith: Any) -> None:
    file = write_file(memory_line("Prefers metric units", key="units"))
    memolith.ok("import", "jsonl", file)
    (memory,) = memolith.json("list")["memories"]
    memolith.ok("update", memory["id"], "Prefers nautical units")
    assert memolith.json("import", "jsonl", file)["duplicates_skipped"] == 1
    assert [one["content"] for one in memolith.json("list")["memories"]] == [
        "Prefers nautical units"
    ]


def test_imported_memory_does_not_take_over_the_users_key(memolith: Any) -> None:
    memolith.ok("remember", "Prefers metric units", "--key", "units")
    answer = memolith.json(
        "import", "jsonl", write_file(memory_line("Prefers imperial units", key="units"))
    )
    assert (answer["memories"], len(answer["keys_dropped"])) == (1, 1)
    found = {
        one["content"]: (one["key"], one["origin"]) for one in memolith.json("list")["memories"]
    }
    assert found == {
        "Prefers metric units": ("units", "user"),
        "Prefers imperial units": (None, "import"),
    }


def test_import_keeps_user_origin_only_for_trusted_files(memolith: Any) -> None:
    file = write_file(
        memory_line("Likes tea", origin="user") + memory_line("The tea is hot", origin="tool")
    )
    memolith.ok("import", "jsonl", file)
    assert {one["origin"] for one in memolith.json("list")["memories"]} == {"import", "tool"}
    memolith.ok("import", "jsonl", file, "--trusted")
    assert {one["origin"] for one in memolith.json("list")["memories"]} == {"user", "tool"}


def test_sample_option_imports_one_sample(memolith: Any) -> None:
    out = memolith.ok("import", "locomo", write_file(LOCOMO), "--sample", "conv-2").out
    assert out == "Imported 2 messages of 1 conversation, 0 memories.\n"
    assert "D1:1" in memolith.ok("recall", "Where did Ann go?").out


def test_unknown_sample_error_lists_the_known_samples(memolith: Any) -> None:
    answer = memolith("import", "locomo", write_file(LOCOMO), "--sample", "conv-3")
    assert answer.code == 2
    assert "conv-1, conv-2" in answer.err


def test_sample_option_is_rejected_for_other_formats(memolith: Any) -> None:
    assert memolith("import", "claude", write_file(CLAUDE), "--sample", "x").code == 2


def test_import_reads_an_export_from_a_zip_archive(memolith: Any) -> None:
    with zipfile.ZipFile("export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps(CLAUDE))
    assert memolith.json("import", "claude", "export.zip")["messages"] == 2


def test_import_keeps_and_reports_items_before_an_invalid_conversation(memolith: Any) -> None:
    answer = memolith("import", "claude", write_file([*CLAUDE, {"uuid": "c2"}]))
    assert answer.code == 2
    assert answer.out == ""
    *_, stopped, problem = answer.err.splitlines()  # preceded by the location of the keys
    assert (
        stopped == "memolith: stopped after 2 messages of 1 conversation, 1 memory;"
        " imported records are kept"
    )
    assert "file.json:1: " in problem
    assert memolith.json("stats")["messages"] == 2


def test_interrupted_import_keeps_whole_batches(
    memolith: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = transfer.store_batch
    calls = []

    def store_until_interrupted(*args: Any) -> int:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return store(*args)

    monkeypatch.setattr("memolith.cli.commands.transfer.store_batch", store_until_interrupted)
    answer = memolith("import", "jsonl", write_file(LINES))
    assert answer.code == 130
    assert "stopped after 2 messages" in answer.err
    stats = memolith.json("stats")
    assert (stats["messages"], stats["total_count"]) == (2, 0)


def test_malformed_line_rejects_the_whole_file(memolith: Any) -> None:
    answer = memolith("import", "jsonl", write_file(LINES + "{"))
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
def test_invalid_value_rejects_the_whole_file_and_names_the_line(memolith: Any, line: str) -> None:
    answer = memolith("import", "jsonl", write_file(LINES + line))
    assert answer.code == 2
    assert "file.json:4" in answer.err
    assert memolith.json("stats")["messages"] == 0


def test_import_skips_and_counts_empty_messages(memolith: Any) -> None:
    chat = json.loads(json.dumps(CHATGPT))
    chat[0]["mapping"]["b"]["message"]["content"]["parts"] = ["\u200b\x00"]
    answer = memolith.json("import", "chatgpt", write_file(chat))
    assert (answer["messages"], answer["messages_skipped"]) == (1, 1)
    assert "1 empty or too long" in memolith("import", "chatgpt", write_file(chat)).out


def test_import_of_missing_file_is_a_usage_error(memolith: Any) -> None:
    for format_ in transfer.IMPORT_FORMATS:
        answer = memolith("import", format_, "none.json")
        assert answer.code == 2
        assert "none.json" in answer.err


def test_import_reads_standard_input(memolith: Any) -> None:
    assert memolith.json("import", "jsonl", "-", stdin=LINES)["messages"] == 2
    assert memolith.json("import", "claude", "-", stdin=json.dumps(CLAUDE))["messages"] == 2


@pytest.fixture
def memolith_with_history(memolith: Any, clock: SettableClock) -> Any:
    """A store whose memories were updated, superseded, forgotten and restored."""

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


def export_lines(memolith: Any, *options: str) -> list[Any]:
    return [json.loads(line) for line in memolith.ok("export", *options).out.splitlines()][1:]


def test_export_and_import_preserve_everything(memolith_with_history: Any) -> None:
    memolith_with_history.ok("export", "--output", "all.jsonl")
    before = export_lines(memolith_with_history)
    brought = memolith_with_history.json("import", "jsonl", "all.jsonl", "--store", "other.db")
    assert export_lines(memolith_with_history, "--store", "other.db") == before
    assert brought["memories"] == sum(line["type"] == "memory" for line in before)
    assert brought["messages"] == sum(line["type"] == "message" for line in before)
    for query in ("Where does Alice work?", "units", "liver", "the key", "name"):
        for options in ((), ("--as-of", "2026-03-06T13:00:00Z")):
            args = ("recall", query, "--no-touch", *options)
            assert memolith_with_history.json(
                *args, "--store", "other.db"
            ) == memolith_with_history.json(*args)


def test_import_into_the_exporting_store_adds_nothing(memolith_with_history: Any) -> None:
    memolith_with_history.ok("export", "--output", "all.jsonl")
    before = export_lines(memolith_with_history)
    brought = memolith_with_history.json("import", "jsonl", "all.jsonl")
    assert (brought["messages"], brought["memories"], brought["duplicates_skipped"]) == (
        0,
        0,
        len(before),
    )
    assert export_lines(memolith_with_history) == before


def test_import_links_a_successor_from_a_later_batch(
    memolith_with_history: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "IMPORT_BATCH_SIZE", 1)
    memolith_with_history.ok("export", "--output", "all.jsonl")
    brought = memolith_with_history.json("import", "jsonl", "all.jsonl", "--store", "other.db")
    assert export_lines(memolith_with_history, "--store", "other.db") == export_lines(
        memolith_with_history
    )
    assert brought["duplicates_skipped"] == 0
    assert memolith_with_history.json("verify", "--store", "other.db")["findings"] == []


def test_memory_superseded_by_a_forgotten_one_is_exported_and_imported(
    memolith_with_history: Any,
) -> None:
    new = memolith_with_history.json("remember", "Works at CERN")["id"]
    old = memolith_with_history.json("remember", "Worked at ESO")["id"]
    memolith_with_history.ok("supersede", old, new)
    memolith_with_history.ok("forget", new)
    memolith_with_history.ok("export", "--output", "all.jsonl")
    memolith_with_history.ok("import", "jsonl", "all.jsonl", "--store", "other.db")
    assert memolith_with_history.json("verify", "--store", "other.db")["findings"] == []
    assert memolith_with_history.json("show", old, "--store", "other.db")["superseded_by"] is None


def test_forgotten_message_is_not_exported(memolith_with_history: Any) -> None:
    message = memolith_with_history.json("recall", "I have it")["memories"][0]["record"]["id"]
    memolith_with_history.ok("forget", message)
    assert "I have it" not in memolith_with_history.ok("export").out


def test_export_can_be_imported_for_another_owner(memolith_with_history: Any) -> None:
    memolith_with_history.ok("export", "--output", "all.jsonl")
    memolith_with_history.ok("import", "jsonl", "all.jsonl", "--owner", "bob")
    assert export_lines(memolith_with_history, "--owner", "bob") == export_lines(
        memolith_with_history
    )


def test_imported_memory_loses_a_key_that_is_taken(memolith_with_history: Any) -> None:
    memolith_with_history.ok("export", "--output", "all.jsonl")
    memolith_with_history.ok(
        "remember", "Prefers imperial units", "--key", "units", "--owner", "bob"
    )
    brought = memolith_with_history.json("import", "jsonl", "all.jsonl", "--owner", "bob")
    (unkeyed,) = brought["keys_dropped"]
    memory = memolith_with_history.json("show", unkeyed, "--owner", "bob")
    assert memory["content"] == "Prefers metric units, also for recipes"
    assert memory["key"] is None


def test_failed_export_keeps_the_previous_file(
    memolith_with_history: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("all.jsonl").write_text("old")

    def write_until_interrupted(*_args: object) -> Any:
        yield b"new"
        raise KeyboardInterrupt

    monkeypatch.setattr("memolith.cli.commands.transfer.write_export", write_until_interrupted)
    assert memolith_with_history("export", "--output", "all.jsonl").code == 130
    assert Path("all.jsonl").read_text() == "old"
    assert not list(Path().glob(".memolith-*"))


@pytest.mark.sqlite
def test_export_writes_through_links_and_pipes(memolith_with_history: Any, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "linked.jsonl")
    memolith_with_history.ok("export", "--output", "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    whole = (tmp_path / "linked.jsonl").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as other:
        read = other.submit((tmp_path / "pipe").read_bytes)
        memolith_with_history.ok("export", "--output", "pipe")
        assert len(read.result(timeout=30)) == len(whole)
    assert (tmp_path / "pipe").is_fifo()
    answer = memolith_with_history("export", "--output", ".")
    assert (answer.code, "is a directory" in answer.err) == (2, True)


def test_export_to_missing_folder_is_an_error(memolith_with_history: Any) -> None:
    answer = memolith_with_history("export", "--output", "none/all.jsonl")
    assert answer.code == 14
    assert "no such file or directory" in answer.err


def test_import_reports_the_number_of_redacted_secrets(memolith: Any) -> None:
    lines = LINES.replace("The key is blue", "password: tulip-4711-gate").replace(
        "Prefers metric units", "My password is tulip-4711-gate"
    )
    assert memolith.ok("import", "jsonl", write_file(lines)).out.endswith("; 2 secrets redacted.\n")
    assert memolith.json("import", "jsonl", write_file(lines))["redactions"] == 0
