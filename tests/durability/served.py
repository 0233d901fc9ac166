"""`memolith serve` at one port, started again and again."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO

from integration.http.serving import PROGRAM

_PATIENCE_S = 60.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass(slots=True)
class Server:
    """The service, as a process.

    Attributes:
        env: How it is configured.
        port: Where it listens.
        logged: What it has said, line by line.
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
        """Start it, and wait until it answers."""
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
        """Tell it to end; return how it has ended."""
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
