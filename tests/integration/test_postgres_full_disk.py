"""A PostgreSQL server whose disk is full: what was acknowledged stays, and reading goes on."""

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
"""What an empty server takes, and some more."""

_WRITES = 500
"""More than find room in what is left."""


def disks(folder: Path) -> tuple[Path, Path]:
    """Return two small disks, which the user whom servers run as may enter."""
    data, log = folder / "data", folder / "log"
    for place, size in ((data, _DATA_KB), (log, _LOG_KB)):
        place.mkdir()
        mount_tmpfs(place, size)
        place.chmod(0o755)
    (data / "own").mkdir()
    return data, log


def opened(url: str) -> Memolith:
    return Memolith.open(
        url,
        embedder=HashingEmbedder(64),
        tokens=WordCounter(),
        cipher=PlainCipher(),
        config=load(None, {"MEMOLITH_BUSY_TIMEOUT_S": "0.5"}, {}),
    )


def text(number: int) -> str:
    return f"Fact {number}: {Words(number).text(40)}"


def told(memory: Memolith) -> set[str]:
    return {one.content for one in memory.list(owner="alice", limit=1_000).memories}


def write_until_refused(memory: Memolith, kept: set[str]) -> StoreUnavailable:
    """Store one fact after the other; each that is acknowledged is noted."""
    for number in range(len(kept), len(kept) + _WRITES):
        try:
            memory.remember(text(number), owner="alice")
        except StoreUnavailable as error:
            return error
        kept.add(text(number))
    raise AssertionError("the disk does not get full")


def _meets_full_disks(folder: Path) -> None:
    data, log = disks(folder)
    with (
        own_server(
            "max_wal_size = 40MB", "min_wal_size = 32MB", folder=data / "own", log=log
        ) as server,
        opened(server.url) as memory,
    ):
        kept: set[str] = set()
        memory.remember(text(0), owner="alice")
        kept.add(text(0))
        _has_no_room_for_data(memory, data, kept)
        _has_no_room_for_its_log(server, memory, log, kept)


def _has_no_room_for_data(memory: Memolith, disk: Path, kept: set[str]) -> None:
    with filled(disk):
        refused = write_until_refused(memory, kept)
        assert "has a full disk" in str(refused)
        assert "Fact" not in str(refused)
        assert told(memory) == kept
        assert memory.recall(text(0), owner="alice").memories
        assert memory.verify().findings == ()
    memory.remember(text(len(kept)), owner="alice")
    kept.add(text(len(kept)))
    assert told(memory) == kept
    assert memory.verify().findings == ()


def _has_no_room_for_its_log(
    server: OwnServer, memory: Memolith, disk: Path, kept: set[str]
) -> None:
    """Then the server ends, as it may not acknowledge what it can't write down."""
    refused = ""
    with filled(disk):
        while not refused:
            with suppress(psycopg.Error), psycopg.connect(server.url, autocommit=True) as raw:
                raw.execute("SELECT pg_switch_wal()")  # soon at the end of what it has
            try:
                memory.remember(text(len(kept)), owner="alice")
            except StoreUnavailable as error:
                refused = str(error)
            else:
                kept.add(text(len(kept)))
    assert (
        "can't be reached" in refused or "it is unknown whether the changes were saved" in refused
    )
    server.restart()
    memory.remember(text(len(kept)), owner="alice")
    kept.add(text(len(kept)))
    assert told(memory) == kept
    assert memory.verify().findings == ()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may mount")
def test_who_meets_a_full_disk() -> None:
    # Not below a folder of pytest's, which only this user may enter.
    with tempfile.TemporaryDirectory(prefix="memolith-disks-") as folder:
        run_apart(_meets_full_disks, Path(folder))
