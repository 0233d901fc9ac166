"""The installed program with its own model; few tests, since each start takes half a second."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.databases import PLACES

PROGRAM = Path(sys.executable).with_name("memolith")
DEADLINE_S = 60.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    own = {name: text for name, text in os.environ.items() if not name.startswith("MEMOLITH_")}
    folders = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
    homes = {name: str(tmp_path / "home") for name in folders}
    return own | homes | PLACES.variables(tmp_path / "memory.db")


def run(
    environment: dict[str, str], folder: Path, *args: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [PROGRAM, *args], capture_output=True, cwd=folder, env=environment, check=False
    )


def test_next_process_recalls_memory_by_meaning(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for text in ("My cat is called Knäcke", "I commute by bicycle"):
        assert run(environment, tmp_path, "remember", text).returncode == 0
    found = run(environment, tmp_path, "recall", "What is the name of my pet?", "--json")
    assert (found.returncode, found.stderr) == (0, b"")
    first = json.loads(found.stdout)["memories"][0]
    assert first["record"]["content"] == "My cat is called Knäcke"


def test_unsupported_character_is_printed_as_escape(
    environment: dict[str, str], tmp_path: Path
) -> None:
    ascii_only = environment | {"PYTHONIOENCODING": "ascii"}
    run(environment, tmp_path, "remember", "My cat is called Knäcke")
    found = run(ascii_only, tmp_path, "recall", "cat")
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"Kn\\xe4cke" in found.stdout


def test_error_is_one_line_without_stack_trace(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no store " * 1000)
    failed = run(environment, tmp_path, "stats", "--store", "notes.txt")
    assert (failed.returncode, failed.stdout) == (11, b"")
    assert failed.stderr.startswith(b"memolith: ")
    assert failed.stderr.count(b"\n") == 1


def conversations(count: int) -> str:
    return json.dumps(
        [
            {
                "uuid": f"c{number}",
                "chat_messages": [
                    {"uuid": "a", "sender": "human", "text": f"What about number {number}?"},
                    {"uuid": "b", "sender": "assistant", "text": f"Number {number} is fine."},
                ],
            }
            for number in range(count)
        ]
    )


def test_closed_output_pipe_prints_no_error(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "many.json").write_text(conversations(1))
    run(environment, tmp_path, "import", "claude", "many.json")
    with subprocess.Popen(
        [PROGRAM, "export"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
    ) as exporting:
        assert exporting.stdout is not None
        assert exporting.stderr is not None
        exporting.stdout.close()
        errors = exporting.stderr.read()
        assert exporting.wait(DEADLINE_S) == 141
    assert errors == b""


@pytest.mark.skipif(sys.platform == "win32", reason="a process there can't be sent an interrupt")
def _accept_interrupts() -> None:
    """Accept Ctrl-C in the program, as in a terminal; background jobs of a shell ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.sqlite
def test_interrupted_import_keeps_complete_conversations(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "many.json").write_text(conversations(50_000))
    store = tmp_path / "memory.db"
    with subprocess.Popen(
        [PROGRAM, "import", "claude", "many.json", "--store", str(store)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
        preexec_fn=_accept_interrupts,  # noqa: PLW1509 - no thread of the tests holds a lock here
    ) as importing:
        deadline = time.monotonic() + DEADLINE_S
        log = store.with_name("memory.db-wal")
        try:
            while not (log.exists() and log.stat().st_size > 500_000):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            importing.send_signal(signal.SIGINT)
            out, errors = importing.communicate(timeout=DEADLINE_S)
        finally:
            importing.kill()
    assert (importing.returncode, out) == (130, b"")
    assert b"records are kept" in errors
    assert b"Traceback" not in errors
    stats = json.loads(run(environment, tmp_path, "stats", "--store", str(store), "--json").stdout)
    assert stats["messages"] == 2 * stats["sessions"]
    assert 0 < stats["sessions"] < 50_000
