"""Run `memolith serve` as a process, optionally with restarts on the same port."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx

PROGRAM = Path(sys.executable).with_name("memolith")
_RUNNING = re.compile(r"running on http://[\d.]+:(\d+)")
_WAIT_S = 30
_PATIENCE_S = 60.0


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment with only the given configuration."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("MEMOLITH_")}
    folders = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
    return {
        **own,
        **{name: str(folder / "home") for name in folders},
        "MEMOLITH_STORE": str(folder / "memory.db"),
        "MEMOLITH_ENABLE_ENCRYPTION": "false",
        **more,
    }


@contextmanager
def served(env: Mapping[str, str], *arguments: str) -> Iterator[httpx.Client]:
    """Run the service on a free port until the end of the block."""
    process = subprocess.Popen(
        [str(PROGRAM), "serve", "--port", "0", *arguments],
        env=dict(env),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        port = next(
            found[1] for line in process.stderr if (found := _RUNNING.search(line)) is not None
        )
        reading = threading.Thread(target=process.stderr.read)  # drains the pipe
        reading.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=_WAIT_S) as client:
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(_WAIT_S) == 0
        reading.join()
        process.stderr.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass(slots=True)
class Server:
    """The service as a process.

    Attributes:
        env: Its configuration.
        port: Its port.
        logged: Lines of its log.
    """

    env: Mapping[str, str]
    port: int = field(default_factory=free_port)
    logged: list[str] = field(default_factory=list)
    _process: subprocess.Popen[str] | None = None
    _reading: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the service and wait until it responds."""
        command = [str(PROGRAM), "serve", "--port", str(self.port)]
        self._process = subprocess.Popen(
            command, env=dict(self.env), stderr=subprocess.PIPE, text=True
        )
        ready = threading.Event()
        stderr = self._process.stderr
        assert stderr is not None
        self._reading = threading.Thread(target=self._read, args=(stderr, ready))
        self._reading.start()
        assert ready.wait(_PATIENCE_S), self.logged

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Stop the service; return its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        assert self._process is not None
        assert self._reading is not None
        self._process.send_signal(how)
        ended = self._process.wait(_PATIENCE_S)
        self._reading.join()
        return ended

    def _read(self, stderr: IO[str], ready: threading.Event) -> None:
        with stderr:
            for line in stderr:
                self.logged.append(line)
                if "running on http" in line:
                    ready.set()
