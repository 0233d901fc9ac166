"""A Chroma server for tests, and stores that use it."""

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
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from memolith.adapters.chroma import outbox
from memolith.adapters.chroma.client import Chroma, NearestPoints, Points
from memolith.adapters.chroma.store import ChromaStore
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.domain.recall import SearchFilter
from memolith.ports.store import Store, Transaction
from memolith.testing.builders import DIMENSION, at, memory, short_entry
from memolith.testing.store_search import found

_STARTS_WITHIN_S = 60.0


class RunningServer:
    """`chroma run` on its own port; can be stopped and restarted."""

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
            with urlopen(f"{self.url}/api/v2/heartbeat", timeout=5) as answer:  # noqa: S310 - local
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


@cache
def on_server() -> RunningServer:
    """Return a server that runs until the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="memolith-chroma-"))
    server = RunningServer(folder)
    server.start()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.stop)
    return server


class UpToDateStore(ChromaStore):
    """A store that sends pending vectors before each check that it is up to date."""

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        with super().write(owner_id) as transaction:
            yield transaction
        assert self._outbox_sender.send()


NOW = SearchFilter(now=at(100_000))


class Counting:
    """Delegates to a Chroma and counts searches."""

    def __init__(self, chroma: Chroma) -> None:
        self._chroma = chroma
        self.searches: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chroma, name)

    def nearest(self, name: str, query: Any, most: int) -> NearestPoints:
        self.searches.append((name, most))
        return self._chroma.nearest(name, query, most)


def opened(path: Path, chroma: Any, **more: Any) -> ChromaStore:
    store = ChromaStore.open(path, cipher=PlainCipher(), chroma=chroma, **more)
    store.adopt_embedder("builders", DIMENSION)
    return store


def keep(store: Store, numbers: range, owner: str = "alice", angle: float = 0.01) -> None:
    """Store memories, each slightly farther from the first axis than the one before."""
    with store.write(owner) as tx:
        tx.insert(
            [(memory(n, f"memory {n}", owner_id=owner), short_entry(f"memory {n}", 1, angle * n))
             for n in numbers]
        )  # fmt: skip


def sent(store: ChromaStore) -> None:
    assert store._outbox_sender.send()


def nearest(store: Store, owner: str = "alice", limit: int = 1_000) -> list[int]:
    with store.read(owner) as snapshot:
        return found(snapshot, NOW, (1.0,), limit)


def collection_of(store: ChromaStore, owner: str = "alice") -> str:
    with store._connections.read() as connection:
        return outbox.collection_name(
            outbox.read_store_id(connection) or "", connection.get_owner(owner).number
        )


def held(store: ChromaStore, owner: str = "alice") -> Points:
    return store._chroma.page(collection_of(store, owner), 0, 1_000)
