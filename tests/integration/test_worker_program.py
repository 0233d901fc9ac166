"""The installed program as a worker that is stopped during model calls."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memolith import Memolith
from memolith.config import load
from memolith.demo.model_server import ModelServer, ReceivedRequest
from memolith.domain.owners import WorkKind
from memolith.services.work import LEASE_S
from support.databases import PLACES
from support.scripted_learning import OWNER, client

PROGRAM = Path(sys.executable).with_name("memolith")
DEADLINE_S = 60.0

_EXCHANGES = 30
_CONCURRENCY = 4
_SAID = re.compile(r"Box \d+ holds lamps\.")


class Gate:
    """A model whose calls block until `open` is called."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._came = threading.Semaphore(0)
        self.asked: list[str] = []

    def __call__(self, request: ReceivedRequest) -> Any:
        said = _SAID.search(request.user)
        assert said is not None
        self.asked.append(said[0])
        self._came.release()
        self._open.wait(DEADLINE_S)
        return {"facts": [{"fact": said[0], "type": "knowledge", "from": [1]}]}

    def wait_for(self, calls: int) -> None:
        for _ in range(calls):
            assert self._came.acquire(timeout=DEADLINE_S)

    def open(self) -> None:
        self._open.set()


def environment(folder: Path, server: ModelServer) -> dict[str, str]:
    own = {name: text for name, text in os.environ.items() if not name.startswith("MEMOLITH_")}
    folders = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA")
    return {
        **own,
        **{name: str(folder / "home") for name in folders},
        "MEMOLITH_STORE": str(folder / "memory.db"),
        "MEMOLITH_PROFILE": "tiers",
        "MEMOLITH_ENABLE_ENCRYPTION": "false",
        "MEMOLITH_CHAT__PROVIDER": "openai",
        "MEMOLITH_CHAT__MODEL": "scripted",
        "MEMOLITH_CHAT__BASE_URL": server.openai_url,
        "MEMOLITH_CHAT__CALLS_AT_ONCE": str(_CONCURRENCY),
        "OPENAI_API_KEY": "sk-of-the-tests",
        **PLACES.variables(folder / "memory.db"),
    }


def open_memory(folder: Path, server: ModelServer) -> Memolith:
    return Memolith.open(
        folder / "memory.db",
        profile="tiers",
        config=load(None, {"MEMOLITH_ENABLE_ENCRYPTION": "false"}, {}),
        chat=client(server.openai_url),
        worker=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a process there can't be sent a signal")
def test_stopped_worker_stores_its_answers_and_releases_the_rest(
    tmp_path: Path,
) -> None:
    gate = Gate()
    with ModelServer(gate) as server:
        with open_memory(tmp_path, server) as memory:
            for number in range(_EXCHANGES):
                memory.learn(f"Box {number} holds lamps.", "Noted.", owner=OWNER)
        with subprocess.Popen(
            [PROGRAM, "worker"],
            env=environment(tmp_path, server),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as worker:
            try:
                gate.wait_for(_CONCURRENCY)
                worker.send_signal(signal.SIGTERM)
                gate.open()
                _, said = worker.communicate(timeout=DEADLINE_S)
            finally:
                worker.kill()
        assert (worker.returncode, said) == (0, b"memolith: worker started; stop with Ctrl-C\n")
        with open_memory(tmp_path, server) as memory:
            check_stopped_work(memory, gate.asked)


def check_stopped_work(memory: Memolith, asked: list[str]) -> None:
    """Check that answered messages are learned, and the rest can be leased at once."""
    assert _CONCURRENCY <= len(asked) < _EXCHANGES
    page = memory.list(owner=OWNER, limit=1_000)
    assert sorted(each.content for each in page.memories) == sorted(asked)
    assert memory.backlog(owner=OWNER).pending_messages == 2 * (_EXCHANGES - len(asked))
    store, now = memory._app.store, memory.messages(owner=OWNER)[0].at
    assert now is not None
    assert store.leases.acquire(OWNER, WorkKind.LEARN, now=now, lease_s=LEASE_S) is not None
    assert memory.verify().findings == ()
