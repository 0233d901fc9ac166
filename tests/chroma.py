"""A Chroma server for the tests, and stores that use it or one in this process."""

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from mnemon.adapters.chroma.store import ChromaStore
from mnemon.ports.store import Transaction

_STARTS_WITHIN_S = 60.0


class RunningServer:
    """`chroma run` on a port of its own, which can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = Path(sys.executable).with_name("chroma")
        self._process = subprocess.Popen(
            [
                program,
                "run",
                "--path",
                self.folder,
                "--host",
                "127.0.0.1",
                "--port",
                str(self.port),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
        until_s = time.monotonic() + _STARTS_WITHIN_S
        while not self._answers():
            assert time.monotonic() < until_s
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/api/v2/heartbeat", timeout=5) as answer:  # noqa: S310 - ours
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


@cache
def on_server() -> RunningServer:
    """Return a server that runs until the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="mnemon-chroma-"))
    server = RunningServer(folder)
    server.start()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)
    return server


class UpToDateStore(ChromaStore):
    """A store that has sent what was written before it says that it is."""

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        with super().write(owner_id) as transaction:
            yield transaction
        assert self._sending.send()
