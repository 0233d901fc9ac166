"""Anthropic's memory tool on the store answers as on files, and rejects path traversal."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from anthropic.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memolith import Memolith
from memolith.testing.fakes import HashingEmbedder, WordCounter
from memolith.tools import MemoryFiles, memory_tool
from memolith.tools.files import TAG
from support.rows import check_each

PROFILES = ("standard", "companion", "chunks", "tiers", "timeline")


def view(path: str = "/memories", **more: Any) -> dict[str, Any]:
    return {"command": "view", "path": path, **more}


def create(path: str, text: str) -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": text}


def replace(path: str, old: str, new: str) -> dict[str, Any]:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> dict[str, Any]:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> dict[str, Any]:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> dict[str, Any]:
    return {"command": "rename", "old_path": old, "new_path": new}


def run(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"refused: {error}"


A, B, DEEP = "/memories/a.md", "/memories/b.md", "/memories/work/plans/q3.md"

SCRIPT = (
    create(A, "one\ntwo\nthree"),
    create(A, "again"),
    view(A),
    view(A, view_range=[2, 3]),
    view(A, view_range=[2, -1]),
    view("/memories/none.md"),
    replace(A, "two", "2"),
    replace(A, "absent", "x"),
    replace(A, "e", "x"),
    replace("/memories/none.md", "a", "b"),
    insert(A, 0, "zero\n"),
    insert(A, 9, "x"),
    insert(A, -1, "x"),
    insert("/memories/none.md", 0, "x"),
    create(DEEP, "Ship it"),
    create("/memories/.hidden", "x"),
    replace("/memories/work", "a", "b"),
    insert("/memories/work", 0, "b"),
    rename(A, DEEP),
    rename(A, B),
    rename("/memories/none.md", "/memories/c.md"),
    rename("/memories", "/memories/c"),
    view(A),
    rename("/memories/work/plans", "/memories/old"),
    view("/memories/old/q3.md"),
    view("/memories/work/plans/q3.md"),
    delete("/memories/none.md"),
    delete("/memories"),
    delete("/memories/old"),
    view("/memories/old"),
    create("/etc/passwd", "x"),
    create("/memories/../x", "x"),
    view("memories/a.md"),
)


def test_answers_equal_those_of_anthropics_file_tool(memory: Memolith, tmp_path: Path) -> None:
    theirs, ours = BetaLocalFilesystemMemoryTool(str(tmp_path)), memory_tool(memory.owner("alice"))
    for command in SCRIPT:
        # Their tool adds a final newline after an insertion, which shows as an empty line.
        expected = run(theirs, command).removesuffix("\n     5\t")
        assert run(ours, command) == expected, command


def test_directory_view_lists_two_levels_with_sizes(memory: Memolith) -> None:
    tool = memory_tool(memory.owner("alice"))
    for path, text in ((A, "x" * 1536), (DEEP, "12"), ("/memories/.hidden", "x"), (B, "")):
        run(tool, create(path, text))
    header = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden"
    assert run(tool, view("/memories/")).splitlines() == [
        f"{header} items:",
        "1.5K\t/memories",
        "1.5K\t/memories/a.md",
        "0B\t/memories/b.md",
        "2B\t/memories/work/",
        "2B\t/memories/work/plans/",
    ]
    assert "q3.md" in run(tool, view("/memories/work"))


HOSTILE_PATHS = (
    "/memories/../secret",
    "/memories/a/../../secret",
    "/memories/..",
    "/memories/%2e%2e/secret",
    "/memories/%2E%2e%2Fsecret",
    "/memories/%252e%252e/secret",
    "/memories/..%2fsecret",
    "/memories/a\\..\\..\\secret",
    "/memories/\u2025/secret",
    "/memories/\uff0e\uff0e/secret",
    "/memories/a\0b",
    "/memories/a\nb",
    "/memoriesx/secret",
    "/Memories/secret",
    "/MEMORIES",
    "/",
    "",
    "..",
    "//memories/a",
    "/etc/passwd",
    "C:\\memories\\a",
    "file:///memories/a",
    f"/memories/{'x' * 300}",
)


@check_each("path", HOSTILE_PATHS)
def test_malicious_paths_are_refused(memory: Memolith, path: str) -> None:
    alice = memory.owner(f"alice {HOSTILE_PATHS.index(path)}")
    alice.remember("The user's own", key="secret")
    alice.remember("The user's own too", key="/memories/kept")
    files = MemoryFiles(alice)
    said = [
        files.run(command)
        for command in (
            create(path, "x"),
            view(path),
            replace(path, "x", "y"),
            insert(path, 0, "y"),
            delete(path),
            rename(path, A),
            rename("/memories/kept", path),
        )
    ]
    assert all(each.is_error for each in said)
    assert {each.content for each in alice.list().memories} == {
        "The user's own",
        "The user's own too",
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_files_are_separate_and_exact_in_every_profile(memory: Memolith, profile: str) -> None:
    alice = memory.owner("alice")
    alice.switch_profile(profile)
    files = MemoryFiles(alice)
    text = "Prefers metric units\n\n- tea\n- no sugar"
    alice.remember(text, key="note", origin="assistant")
    for path in (A, B):  # the same text in two files
        assert not files.run(create(path, text)).is_error
    for path in (A, B):
        assert files.run(view(path)).text.count("\t") == 4
    assert not files.run(replace(A, "- tea\n", "- coffee\n")).is_error
    assert "- tea" in files.run(view(B)).text
    assert "- coffee" in files.run(view(A)).text
    assert alice.get(key="note").content == text


def test_file_changes_are_versions_and_deletion_can_be_undone(memory: Memolith) -> None:
    alice = memory.owner("alice")
    files = MemoryFiles(alice)
    files.run(create(A, "one"))
    files.run(replace(A, "one", "two"))
    files.run(rename(A, B))
    file = alice.get(key=B)
    assert [each.memory.content for each in alice.history(file.id).versions] == [
        f"{A}\none",
        f"{A}\ntwo",
        f"{B}\ntwo",
    ]
    files.run(delete(B))
    assert files.run(view(B)).is_error
    alice.restore(file.id)
    assert files.run(view(B)).text.endswith("     1\ttwo")


def test_file_is_recalled_like_other_memories(memory: Memolith) -> None:
    alice = memory.owner("alice")
    MemoryFiles(alice).run(create(A, "The garden gate sticks in winter."))
    assert A in alice.context("garden gate")
    assert alice.get(key=A).tags == (TAG,)


def test_oversized_file_is_refused_with_the_limit(memory: Memolith) -> None:
    files = MemoryFiles(memory.owner("alice"))
    refused = files.run(create(A, "x" * 8001))
    assert refused.is_error
    assert "8,000" in refused.text
    assert files.run(view(A)).is_error
    files.run(create(A, "y" * 7000))
    assert files.run(insert(A, 1, "x" * 2000)).is_error
    assert "x" not in files.run(view(A)).text.partition("\n")[2]


def test_secret_is_redacted_and_reported(memory: Memolith) -> None:
    alice = memory.owner("alice")
    answer = MemoryFiles(alice).run(create(A, "password = hunter2hunter2"))
    assert answer.text == f"File created successfully at: {A} A secret in it was not kept."
    assert "hunter2" not in alice.get(key=A).content


def test_files_of_another_owner_do_not_exist(memory: Memolith) -> None:
    ours, theirs = MemoryFiles(memory.owner("alice")), MemoryFiles(memory.owner("bob"))
    ours.run(create(A, "Alice's"))
    for command in (view(A), replace(A, "A", "B"), insert(A, 0, "x"), delete(A), rename(A, B)):
        assert "does not exist" in theirs.run(command).text
    assert A not in theirs.run(view()).text
    assert not theirs.run(create(A, "Bob's")).is_error
    theirs.clear()
    assert ours.run(view(A)).text.endswith("\tAlice's")


@pytest.mark.parametrize(
    "command",
    [None, 5, "view", [], {}, {"command": "view"}, {"command": "rm", "path": A}, view(path=None)],  # type: ignore[arg-type]
)
def test_invalid_command_is_returned_as_an_error(memory: Memolith, command: Any) -> None:
    result = MemoryFiles(memory.owner("alice")).run(command)
    assert result.is_error
    assert result.text.startswith("Error: ")


def test_concurrent_insertions_lose_nothing(memory: Memolith) -> None:
    files = MemoryFiles(memory.owner("alice"))
    files.run(create(A, "start"))
    threads = [
        threading.Thread(target=files.run, args=(insert(A, 1, f"line {number}"),))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert files.run(view(A)).text.count("\tline ") == 8


NAMES = st.sampled_from(["a", "b", "c/d", "c/e", "c/e/f", ".h"])
TEXTS = st.sampled_from(["", "x", "x\ny", "one\ntwo\nthree", "same same"])
PATHS = NAMES.map(lambda name: f"/memories/{name}")
COMMANDS = st.one_of(
    st.builds(create, PATHS, TEXTS),
    st.builds(view, PATHS),
    st.builds(replace, PATHS, st.sampled_from(["x", "one", "same", "zzz"]), TEXTS),
    st.builds(insert, PATHS, st.integers(-1, 4), st.sampled_from(["n", "n\nm"])),
    st.builds(delete, PATHS),
    st.builds(rename, PATHS, PATHS),
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(COMMANDS, max_size=12))
def test_any_command_sequence_matches_a_reference_model(
    commands: list[dict[str, Any]],
) -> None:
    held: dict[str, str] = {}
    with Memolith.open(
        ":memory:", embedder=HashingEmbedder(), tokens=WordCounter(), worker=False
    ) as engine:
        files = MemoryFiles(engine.owner("alice"))
        for command in commands:
            _apply(held, command, is_error=files.run(command).is_error)
            kept = {path: files.run(view(path)).text for path in held}
            expected = {
                path: "\n".join(
                    [
                        f"Here's the content of {path} with line numbers:",
                        *(f"{n:>6}\t{line}" for n, line in enumerate(text.split("\n"), 1)),
                    ]
                )
                for path, text in held.items()
            }
            assert kept == expected


def _apply(held: dict[str, str], command: dict[str, Any], *, is_error: bool) -> None:
    """Apply a successful command to the reference model, a mapping of paths to texts."""
    if is_error:
        return
    path = command.get("path", "")
    match command["command"]:
        case "create":
            assert path not in held
            held[path] = command["file_text"]
        case "str_replace":
            held[path] = held[path].replace(command["old_str"], command["new_str"], 1).rstrip("\n")
        case "insert":
            lines = held[path].split("\n") if held[path] else []
            lines.insert(command["insert_line"], command["insert_text"])
            held[path] = "\n".join(lines)
        case "delete":
            for each in [p for p in held if p == path or p.startswith(f"{path}/")]:
                del held[each]
        case "rename":
            old, new = command["old_path"], command["new_path"]
            for each in [p for p in held if p == old or p.startswith(f"{old}/")]:
                held[new + each[len(old) :]] = held.pop(each)
