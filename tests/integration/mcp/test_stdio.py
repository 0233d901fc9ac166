"""`memolith mcp` as a program prints only protocol messages, for any input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from support.mcp_client import text_of

PROGRAM = Path(sys.executable).with_name("memolith")
DEADLINE_S = 60.0
HOMES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
# This profile uses no embeddings, so no model is loaded.
OPTIONS = ("--profile", "timeline", "mcp", "--owner", "alice")
SECRET = "Zufibolema is the word"  # noqa: S105 - not a real secret; it must not be in a log

VERSION = "2025-11-25"
INITIALIZE = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def environment(folder: Path) -> dict[str, str]:
    """Return environment variables that configure only the paths of files."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("MEMOLITH_")}
    store = {"MEMOLITH_STORE": str(folder / "memory.db")}
    return {**own, **{name: str(folder / "home") for name in HOMES}, **store}


def test_official_client_starts_and_uses_the_installed_program(tmp_path: Path) -> None:
    env = environment(tmp_path)
    store = str(tmp_path / "own.db")
    options = ("--store", store, "--profile", "timeline", "--owner", "alice")
    asked = subprocess.run(
        [str(PROGRAM), "mcp", "install", "--client", "cursor", "--json", *options],
        capture_output=True,
        cwd=tmp_path,
        env=env,
        check=True,
    )
    ((server,),) = (each["config"]["mcpServers"].values() for each in json.loads(asked.stdout))
    started = StdioServerParameters(command=server["command"], args=server["args"], env=env)

    async def use() -> list[Any]:
        with anyio.fail_after(DEADLINE_S):
            async with Client(started) as client:
                tools = await client.list_tools()
                stored = await client.call_tool(
                    "memory_store",
                    {"key": "stack", "content": "PicoBot uses Rust", "category": "knowledge"},
                )
                found = await client.call_tool("memory_recall", {"query": "Rust"})
                prompt = await client.get_prompt("with_memory", {"question": "Rust?"})
                return [tools, stored, found, prompt]

    tools, stored, found, prompt = anyio.run(use)
    assert len(tools.tools) == 5
    assert stored.structured_content["kind"] == "knowledge"
    assert "stack: PicoBot uses Rust" in text_of(found)
    assert prompt.messages[0].content.text == (
        "## Memory Context\n\n- stack: PicoBot uses Rust\n\nRust?"
    )


class Talk:
    """A conversation with the program, line by line."""

    def __init__(self, folder: Path) -> None:
        self._log = (folder / "log").open("w+b")
        self._program = subprocess.Popen(
            [str(PROGRAM), *OPTIONS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=folder,
            env=environment(folder),
        )

    def say(self, *lines: bytes) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(b"".join(line + b"\n" for line in lines))
        self._program.stdin.flush()

    def ask(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """Return the answer with that number; earlier lines must be valid messages, too."""
        assert self._program.stdout is not None
        self.say(request(number, method, params))
        for line in self._program.stdout:
            answer: dict[str, Any] = json.loads(line)
            assert answer["jsonrpc"] == "2.0"
            if answer.get("id") == number:
                return answer
        raise AssertionError("it ended")

    def end(self) -> str:
        """Close standard input; return the log."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        assert self._program.wait(DEADLINE_S) == 0
        assert self._program.stdout.read() == b""
        self._program.stdout.close()
        self._log.seek(0)
        log = self._log.read().decode()
        self._log.close()
        return log


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def test_garbage_input_does_not_stop_the_program(tmp_path: Path) -> None:
    talk = Talk(tmp_path)
    talk.ask(0, "initialize", **INITIALIZE)
    talk.say(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    arguments = {"key": "word", "content": SECRET, "category": "knowledge"}
    stored = talk.ask(1, "tools/call", name="memory_store", arguments=arguments)
    assert stored["result"]["structuredContent"]["key"] == "word"
    odd = b'{"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": "%s"}'
    talk.say(SECRET.encode(), b"{", b"null", b"[1, 2]", b"\xff\xfe", odd % SECRET.encode())
    assert talk.ask(2, "tools/call", name=SECRET, arguments={})["result"]["isError"]
    assert talk.ask(3, "no/such", word=SECRET)["error"]["code"] == -32601
    assert talk.ask(4, "tools/call", name=5)["error"]["code"] == -32602
    found = talk.ask(5, "tools/call", name="memory_recall", arguments={"query": SECRET})
    assert found["result"]["structuredContent"]["memories"][0]["text"] == SECRET
    assert talk.ask(6, "ping")["result"] == {}
    log = talk.end()
    assert "Zufibolema" not in log
    assert "Traceback" not in log
    assert "memolith key backup" in log  # the first run recommends a backup, on standard error
