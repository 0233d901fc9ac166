"""`memolith chat` as it is installed, with the services' own clients and a scripted model."""

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
from memolith.demo.model_server import Answer, Asked, ModelServer
from memolith.ports.models import ChatMessage
from support.databases import PLACES

PROGRAM = Path(sys.executable).with_name("memolith")
DEADLINE_S = 60.0
PROTOCOLS = ("openai", "ollama", "anthropic")

INTRODUCED = next(one for one in load_script() if "Johanna Lindqvist" in one.user)
NAME = INTRODUCED.facts[0].content


ANSWERS = {
    "SLOW please": Answer("one two three " * 100, piece_delay_s=0.1),
    "EVIL one": Answer("red \x1b[31m and\x07 back\r\nand on"),
}


def answers(asked: Asked) -> Any:
    """Extract what the script knows; answer by what was said last."""
    found = KnowingModel()(asked)
    last = asked.user.splitlines()[-1]
    return ANSWERS.get(last, f"You said {last}") if found == "I see." else found


def said_to(server: ModelServer) -> list[Asked]:
    """Return what was asked for answers, not for facts."""
    return [asked for asked in server.asked if asked.is_stream]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answers) as running:
        yield running


class Chat:
    """The program in a folder of its own."""

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

    def run(self, *args: str, says: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *args],
            input=says,
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
        """Look at what the program has stored."""
        plain = load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"}, {})
        with Memolith.open(self.folder / "memory.db", config=plain) as memory:
            yield memory.owner(owner)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_was_said_is_learned_before_the_program_ends(
    tmp_path: Path, server: ModelServer, protocol: str
) -> None:
    chat = Chat(tmp_path, server, protocol)
    done = chat.run("chat", "--owner", "ann", "--profile", "facts", says=INTRODUCED.user)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"You said {INTRODUCED.user}\n"
    assert {one.protocol for one in server.asked} == {protocol}
    with chat.memory("ann") as memory:
        assert [one.content for one in memory.list().memories] == [NAME]
        assert "extraction" in memory.usage().by_purpose


def test_a_conversation_is_taken_up_and_another_owner_sees_nothing_of_it(
    tmp_path: Path, server: ModelServer
) -> None:
    chat = Chat(tmp_path, server)
    facts = ("--profile", "facts")
    chat.run("chat", "--owner", "ann", *facts, says=f"{INTRODUCED.user}\nMy code is blue.")
    chat.run("chat", "--owner", "ann", *facts, says="What is my name?\n")
    again = said_to(server)[-1]
    assert NAME in again.system
    assert [(turn.role, turn.content) for turn in again.turns[1:]] == [
        ("user", INTRODUCED.user),
        ("assistant", f"You said {INTRODUCED.user}"),
        ("user", "My code is blue."),
        ("assistant", "You said My code is blue."),
        ("user", "What is my name?"),
    ]
    other = chat.run("chat", "--owner", "bob", *facts, says="Who am I?\n/memories\n/context")
    assert said_to(server)[-1].turns[1:] == (ChatMessage("user", "Who am I?"),)
    assert "Johanna" not in said_to(server)[-1].system
    assert other.stdout.startswith("You said Who am I?\nNo memories were used or learned yet.\n")
    assert other.stdout.endswith("No memories were used yet.\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")
class TestTerminal:
    """At a terminal."""

    def test_ctrl_c_ends_a_reply_and_ctrl_d_the_conversation(
        self, tmp_path: Path, server: ModelServer
    ) -> None:
        chat = Chat(tmp_path, server)
        with Terminal(chat, "chat", "--owner", "ann") as terminal:
            terminal.until("/help lists commands")
            terminal.until("> ")
            terminal.send("SLOW please\n")
            terminal.until("one two")
            terminal.send("\x03")
            terminal.until("stopped")
            terminal.until("> ")
            terminal.until("with Ctrl-D or /quit", press="\x03")
            terminal.until("> ")
            terminal.send("EVIL one\n")
            terminal.until("red \\x1b[31m and\\x07 back\r\nand on")
            terminal.until("> ")
            terminal.send("\x04")
            assert terminal.ended() == 0
        with chat.memory("ann") as memory:
            roles = [str(one.role) for one in memory.recent()]
        assert roles == ["user", "assistant", "user", "assistant"]
        assert not any("one two" in one.user for one in server.asked if not one.is_stream)

    def test_what_was_learned_meanwhile_is_shown(self, tmp_path: Path, server: ModelServer) -> None:
        chat = Chat(tmp_path, server)
        with Terminal(chat, "chat", "--owner", "ann", "--profile", "facts") as terminal:
            terminal.until("> ")
            terminal.send(f"{INTRODUCED.user}\n")
            terminal.until("You said")
            terminal.until("> ")
            shown = ""
            while not re.search(rf"learned +identity +{re.escape(NAME)}", shown):
                terminal.send("/memories\n")
                shown = terminal.until("\n> ")
            terminal.send("/quit\n")
            assert terminal.ended() == 0


class Terminal:
    """A program at a terminal: what is sent is typed, and what it shows is read."""

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

    def until(self, wanted: str, *, press: str = "") -> str:
        """Return what is shown up to a text, and pass over it.

        A key is pressed again each second: Python loses an interrupt that comes between the
        prompt and the reading, where no person is as fast.
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

    def ended(self) -> int:
        """Return the exit code, reading on, so that the program is not held up."""
        while True:
            try:
                if not os.read(self._end, 65_536):
                    break
            except OSError:  # how Linux says that nobody is at the other end any more
                break
        return self._program.wait(DEADLINE_S)
