"""The installed `memolith chat`, with real service clients and a scripted model."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from corpora.exchanges import KnowingModel, load_script
from memolith import Memolith, OwnerMemory
from memolith.config import load
from memolith.demo.model_server import Answer, ModelServer, ReceivedRequest
from memolith.ports.models import ChatMessage
from support.databases import PLACES

PROGRAM = Path(sys.executable).with_name("memolith")
DEADLINE_S = 60.0
PROTOCOLS = ("openai", "ollama", "anthropic")

INTRODUCTION = next(one for one in load_script() if "Johanna Lindqvist" in one.user)
NAME = INTRODUCTION.facts[0].content


ANSWERS = {
    "SLOW please": Answer("one two three " * 100, piece_delay_s=0.1),
    "EVIL one": Answer("red \x1b[31m and\x07 back\r\nand on"),
}


def answer_request(request: ReceivedRequest) -> Any:
    """Extract the script's facts; answer chat requests by their last line."""
    found = KnowingModel()(request)
    last = request.user.splitlines()[-1]
    return ANSWERS.get(last, f"You said {last}") if found == "I see." else found


def chat_requests(server: ModelServer) -> list[ReceivedRequest]:
    """Return the requests for chat replies, without those for extraction."""
    return [asked for asked in server.requests if asked.is_stream]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer_request) as running:
        yield running


class Chat:
    """The program, run in its own folder."""

    def __init__(self, folder: Path, server: ModelServer, protocol: str = "openai") -> None:
        own = {name: text for name, text in os.environ.items() if not name.startswith("MEMOLITH_")}
        folders = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
        self.environment = {
            **own,
            **{name: str(folder / "home") for name in folders},
            "TERM": "dumb",
            "MEMOLITH_STORE": str(folder / "memory.db"),
            "MEMOLITH_ENABLE_ENCRYPTION": "false",
            "MEMOLITH_CHAT__PROVIDER": protocol,
            "MEMOLITH_CHAT__MODEL": "scripted",
            "MEMOLITH_CHAT__BASE_URL": server.openai_url if protocol == "openai" else server.url,
            "MEMOLITH_CHAT__MAX_RETRIES": "0",
            "OPENAI_API_KEY": "sk-of-the-tests",
            "ANTHROPIC_API_KEY": "sk-of-the-tests",
            **PLACES.variables(folder / "memory.db"),
        }
        self.folder = folder

    def run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *args],
            input=stdin,
            capture_output=True,
            cwd=self.folder,
            env=self.environment,
            check=False,
            text=True,
            encoding="utf-8",
            timeout=DEADLINE_S,
        )

    @contextmanager
    def memory(self, owner: str) -> Iterator[OwnerMemory]:
        """Open the program's store for an owner."""
        plain = load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"}, {})
        with Memolith.open(self.folder / "memory.db", config=plain) as memory:
            yield memory.owner(owner)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_chat_learns_exchange_before_program_exits(
    tmp_path: Path, server: ModelServer, protocol: str
) -> None:
    chat = Chat(tmp_path, server, protocol)
    done = chat.run("chat", "--owner", "ann", "--profile", "facts", stdin=INTRODUCTION.user)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"You said {INTRODUCTION.user}\n"
    assert {one.protocol for one in server.requests} == {protocol}
    with chat.memory("ann") as memory:
        assert [one.content for one in memory.list().memories] == [NAME]
        assert "extraction" in memory.usage().by_purpose


def test_chat_resumes_conversation_of_its_owner_only(tmp_path: Path, server: ModelServer) -> None:
    chat = Chat(tmp_path, server)
    facts = ("--profile", "facts")
    chat.run("chat", "--owner", "ann", *facts, stdin=f"{INTRODUCTION.user}\nMy code is blue.")
    chat.run("chat", "--owner", "ann", *facts, stdin="What is my name?\n")
    again = chat_requests(server)[-1]
    assert NAME in again.system
    assert [(turn.role, turn.content) for turn in again.messages[1:]] == [
        ("user", INTRODUCTION.user),
        ("assistant", f"You said {INTRODUCTION.user}"),
        ("user", "My code is blue."),
        ("assistant", "You said My code is blue."),
        ("user", "What is my name?"),
    ]
    other = chat.run("chat", "--owner", "bob", *facts, stdin="Who am I?\n/memories\n/context")
    assert chat_requests(server)[-1].messages[1:] == (ChatMessage("user", "Who am I?"),)
    assert "Johanna" not in chat_requests(server)[-1].system
    assert other.stdout.startswith("You said Who am I?\nNo memories were used or learned yet.\n")
    assert other.stdout.endswith("No memories were used yet.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")
class TestTerminal:
    """`memolith chat` in a terminal."""

    def test_ctrl_c_stops_reply_and_ctrl_d_ends_chat(
        self, tmp_path: Path, server: ModelServer
    ) -> None:
        chat = Chat(tmp_path, server)
        with Terminal(chat, "chat", "--owner", "ann") as terminal:
            terminal.read_until("/help lists commands")
            terminal.read_until("> ")
            terminal.send("SLOW please\n")
            terminal.read_until("one two")
            terminal.send("\x03")
            terminal.read_until("stopped")
            terminal.read_until("> ")
            terminal.read_until("with Ctrl-D or /quit", press="\x03")
            terminal.read_until("> ")
            terminal.send("EVIL one\n")
            terminal.read_until("red \\x1b[31m and\\x07 back\r\nand on")
            terminal.read_until("> ")
            terminal.send("\x04")
            assert terminal.wait_for_exit() == 0
        with chat.memory("ann") as memory:
            roles = [str(one.role) for one in memory.recent()]
        assert roles == ["user", "assistant", "user", "assistant"]
        assert not any("one two" in one.user for one in server.requests if not one.is_stream)

    def test_memories_command_shows_facts_learned_during_chat(
        self, tmp_path: Path, server: ModelServer
    ) -> None:
        chat = Chat(tmp_path, server)
        with Terminal(chat, "chat", "--owner", "ann", "--profile", "facts") as terminal:
            terminal.read_until("> ")
            terminal.send(f"{INTRODUCTION.user}\n")
            terminal.read_until("You said")
            terminal.read_until("> ")
            shown = ""
            while not re.search(rf"learned +identity +{re.escape(NAME)}", shown):
                terminal.send("/memories\n")
                shown = terminal.read_until("\n> ")
            terminal.send("/quit\n")
            assert terminal.wait_for_exit() == 0


class Terminal:
    """A program running in a pseudo-terminal: sends keys and reads its output."""

    def __init__(self, chat: Chat, *args: str) -> None:
        self._chat = chat
        self._args = args
        self._read = b""

    def __enter__(self) -> Self:
        import fcntl
        import pty
        import termios

        self._end, inner = pty.openpty()
        self._program = subprocess.Popen(
            [PROGRAM, *self._args],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=self._chat.folder,
            env=self._chat.environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no lock is held
        )
        os.close(inner)
        return self

    def __exit__(self, *_: object) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._end)

    def send(self, keys: str) -> None:
        os.write(self._end, keys.encode())

    def read_until(self, wanted: str, *, press: str = "") -> str:
        """Return the output up to and including a text.

        The key is sent again each second: Python loses an interrupt that arrives between the
        prompt and the read. No person types that fast.
        """
        deadline = time.monotonic() + DEADLINE_S
        while wanted not in (shown := self._read.decode("utf-8", "replace")):
            assert time.monotonic() < deadline, shown
            self.send(press)
            if select.select([self._end], [], [], 1.0)[0]:
                self._read += os.read(self._end, 65_536)
        end = shown.index(wanted) + len(wanted)
        self._read = shown[end:].encode()
        return shown[:end]

    def wait_for_exit(self) -> int:
        """Return the exit code; keep reading so that the program does not block on output."""
        while True:
            try:
                if not os.read(self._end, 65_536):
                    break
            except OSError:  # Linux: the other end was closed
                break
        return self._program.wait(DEADLINE_S)
