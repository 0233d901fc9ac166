"""A PostgreSQL server with a full disk keeps acknowledged writes and continues to serve reads."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.config import load
from memolith.errors import StoreUnavailable
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.mount_namespace import filled, mount_tmpfs, run_apart
from support.postgres_server import OwnServer, own_server
from support.random_words import Words

_DATA_KB, _LOG_KB = 140_000, 60_000
"""The size of an empty server, and some free space."""

_WRITES = 500
"""More writes than fit in the free space."""


def make_disks(folder: Path) -> tuple[Path, Path]:
    """Return two small disks that the user of the server process may enter."""
    data, log = folder / "data", folder / "log"
    for place, size in ((data, _DATA_KB), (log, _LOG_KB)):
        place.mkdir()
        mount_tmpfs(place, size)
        place.chmod(0o755)
    (data / "own").mkdir()
    return data, log


def open_memory(url: str) -> Memolith:
    return Memolith.open(
        url,
        embedder=HashingEmbedder(64),
        tokens=WordCounter(),
        cipher=PlainCipher(),
        config=load(None, {"MEMOLITH_BUSY_TIMEOUT_S": "0.5"}, {}),
    )


def text(number: int) -> str:
    return f"Fact {number}: {Words(number).text(40)}"


def stored_texts(memory: Memolith) -> set[str]:
    return {one.content for one in memory.list(owner="alice", limit=1_000).memories}


def write_until_refused(memory: Memolith, acknowledged: set[str]) -> StoreUnavailable:
    """Store facts until one is refused; record each acknowledged one."""
    for number in range(len(acknowledged), len(acknowledged) + _WRITES):
        try:
            memory.remember(text(number), owner="alice")
        except StoreUnavailable as error:
            return error
        acknowledged.add(text(number))
    raise AssertionError("the disk does not get full")


def _survives_full_disks(folder: Path) -> None:
    data, log = make_disks(folder)
    with (
        own_server(
            "max_wal_size = 40MB", "min_wal_size = 32MB", folder=data / "own", log=log
        ) as server,
        open_memory(server.url) as memory,
    ):
        acknowledged: set[str] = set()
        memory.remember(text(0), owner="alice")
        acknowledged.add(text(0))
        _survives_full_data_disk(memory, data, acknowledged)
        _survives_full_log_disk(server, memory, log, acknowledged)


def _survives_full_data_disk(memory: Memolith, disk: Path, acknowledged: set[str]) -> None:
    with filled(disk):
        refused = write_until_refused(memory, acknowledged)
        assert "has a full disk" in str(refused)
        assert "Fact" not in str(refused)
        assert stored_texts(memory) == acknowledged
        assert memory.recall(text(0), owner="alice").memories
        assert memory.verify().findings == ()
    memory.remember(text(len(acknowledged)), owner="alice")
    acknowledged.add(text(len(acknowledged)))
    assert stored_texts(memory) == acknowledged
    assert memory.verify().findings == ()


def _survives_full_log_disk(
    server: OwnServer, memory: Memolith, disk: Path, acknowledged: set[str]
) -> None:
    """The server stops when it can't write its write-ahead log."""
    refused = ""
    with filled(disk):
        while not refused:
            with suppress(psycopg.Error), psycopg.connect(server.url, autocommit=True) as raw:
                raw.execute("SELECT pg_switch_wal()")  # uses up its segments
            try:
                memory.remember(text(len(acknowledged)), owner="alice")
            except StoreUnavailable as error:
                refused = str(error)
            else:
                acknowledged.add(text(len(acknowledged)))
    assert (
        "can't be reached" in refused or "it is unknown whether the changes were saved" in refused
    )
    server.restart()
    memory.remember(text(len(acknowledged)), owner="alice")
    acknowledged.add(text(len(acknowledged)))
    assert stored_texts(memory) == acknowledged
    assert memory.verify().findings == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount")
def test_acknowledged_writes_survive_a_full_disk() -> None:
    # Folders of pytest can't be entered by the user of the server process.
    with tempfile.TemporaryDirectory(prefix="memolith-disks-") as folder:
        run_apart(_survives_full_disks, Path(folder))
