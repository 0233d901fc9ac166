"""A store on read-only storage can be read, and writes raise `StoreReadOnly`."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from memolith import Memolith, OwnerMemory
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.key_ring import KeyRing
from memolith.adapters.crypto.master_key import KeyFile, format_key
from memolith.adapters.crypto.primitives import generate_key
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.sqlite.schema import MIGRATIONS
from memolith.cli.main import cli
from memolith.domain.owners import WorkKind
from memolith.errors import StoreReadOnly, StoreUnavailable
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.mount_namespace import (
    heed_modes,
    make_read_only,
    make_writable,
    mirror_read_only,
    mount_tmpfs,
    run_apart,
)
from support.plaintext_search import bytes_of
from support.tenant_isolation import DOORS, READING, furnish, outcome

pytestmark = pytest.mark.sqlite

WORD = "zufibolema"

WRITING = {"remember", "learn", "log", "end_session", "ingest", "update", "supersede", "forget"} | {
    "purge",
    "restore",
    "approve",
    "reject",
    "import_",
    "erase",
    "readmit",
}
"""Methods that always write to a store with test data."""


def open_memory(folder: Path, kind: str = "encrypted", keys: Path | None = None) -> Memolith:
    return Memolith.open(
        folder / "memory.db",
        embedder=HashingEmbedder(64),
        tokens=WordCounter(),
        clock=SettableClock(datetime(2026, 3, 1, 12, tzinfo=UTC)),
        cipher=ciphers(keys or folder / "keys") if kind == "encrypted" else PlainCipher(),
    )


def ciphers(keys: Path) -> KeyRingCiphers:
    return KeyRingCiphers(KeyRing(keys / "key.ring", KeyFile(keys / "key")))


def read_everything(memory: Memolith) -> list[str]:
    """Return the results of all reading methods."""
    things = memory.owner("alice")
    return [
        *(repr(things.recall(q, touch=False)) for q in (WORD, "stairs", "my name")),
        *(outcome(read) for read in (things.list, things.export, things.stats, things.sessions)),
        things.context(f"{WORD} attic", touch=False),
        *(outcome(lambda: things.history(m.id)) for m in things.list(state="all").memories),  # noqa: B023
        *(outcome(lambda: things.messages(s.id)) for s in things.sessions()),  # noqa: B023
        outcome(things.review),
        repr(memory.verify()),
        repr(memory.owners()),
    ]


class RecordingHandler(logging.Handler):
    """Keep the log records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def _is_read_but_not_written(folder: Path, kind: str) -> None:
    mount_tmpfs(folder, 16_000)
    with open_memory(folder, kind) as memory:
        own = furnish(memory.owner("alice"), WORD)
        before = read_everything(memory)
    assert not (folder / "memory.db-wal").exists()
    make_read_only(folder)
    files = bytes_of(folder)
    warned = RecordingHandler()
    logging.getLogger("memolith").addHandler(warned)
    with open_memory(folder, kind) as memory:
        assert read_everything(memory) == before
        for door in sorted(set(DOORS) - READING):
            given = [
                outcome(lambda: call(memory, door, "alice"))  # noqa: B023
                for call in DOORS[door](own, own)
            ]
            if door in WRITING:
                assert any(each.startswith("StoreReadOnly") for each in given), door
        assert memory.recall(WORD, owner="alice").memories
        memory.flush()
        with pytest.raises(StoreReadOnly, match=r"memory\.db is read-only: .* not writable"):
            memory.remember("x", owner="bob")
        claims, now = memory._app.store.leases, datetime(2026, 3, 1, tzinfo=UTC)
        assert claims.owners(WorkKind.CONSOLIDATE, now=now) == ["alice"]
        with pytest.raises(StoreReadOnly):
            claims.acquire("alice", WorkKind.CONSOLIDATE, now=now, lease_s=60)
        assert read_everything(memory) == before
    warnings = {record.getMessage().split(": ")[0] for record in warned.records}
    assert warnings <= {"a history could not be compressed"}  # `compress` never raises
    assert bytes_of(folder) == files


@pytest.mark.parametrize("kind", ["encrypted", "plain"])
def test_store_on_read_only_disk_is_readable_but_not_writable(tmp_path: Path, kind: str) -> None:
    run_apart(_is_read_but_not_written, tmp_path, kind)


def _sees_writes_through_another_mount(folder: Path) -> None:
    """Mount the same folder twice: once writable, once read-only."""
    writable, mirror = folder / "writable", folder / "mirror"
    for place in (writable, mirror):
        place.mkdir()
    write = Writer(writable)
    write("Lives in Oslo")
    write.close()
    mirror_read_only(writable, mirror)
    with open_memory(mirror) as memory:
        alice, store = memory.owner("alice"), memory._app.store
        assert stored_texts(alice) == {"Lives in Oslo"}
        refused = pytest.raises(StoreUnavailable, match=r"written to by another program .* again")
        with (
            refused,
            store.read("alice") as snapshot,
        ):  # no other connection is open, so without locks
            write("Works at NASA")
            write.close()
            snapshot.sessions()
        assert stored_texts(alice) == {"Lives in Oslo", "Works at NASA"}
        write("Plays the cello")
        assert "Plays the cello" in stored_texts(alice)
        with store.read("alice") as snapshot:  # the writer has it open, so with locks
            write("Has a cat")
            write.close()
            assert snapshot.statistics().total_count == 3
        assert "Has a cat" in stored_texts(alice)
        with pytest.raises(StoreReadOnly):
            alice.remember("x")


def _reads_wal_without_its_index(folder: Path) -> None:
    """Read a copy that was made while the store was open, or after its process was killed."""
    source, copy = folder / "source", folder / "copy"
    with open_memory(source) as memory:
        memory.remember("Lives in Oslo", owner="alice")
        copy.mkdir()
        mount_tmpfs(copy, 8_000)
        shutil.copytree(source / "keys", copy / "keys")
        for name in ("memory.db", "memory.db-wal"):
            shutil.copy(source / name, copy / name)
        memory.remember("Works at NASA", owner="alice")
    make_read_only(copy)
    files = bytes_of(copy)
    with open_memory(copy) as memory:
        assert stored_texts(memory.owner("alice")) == {"Lives in Oslo"}
        assert memory.recall("Oslo", owner="alice").memories
        assert memory.verify().is_clean
        assert memory.backup(folder / "backup.db") > 0
        with pytest.raises(StoreReadOnly):
            memory.remember("x", owner="alice")
        assert bytes_of(copy) == files
        make_writable(copy)
        with pytest.raises(StoreReadOnly, match="open it again"):
            memory.remember("Works at NASA", owner="alice")
    with open_memory(copy) as memory:
        memory.remember("Works at NASA", owner="alice")
        assert stored_texts(memory.owner("alice")) == {"Lives in Oslo", "Works at NASA"}
        assert memory.verify().is_clean
    assert (
        Memolith.restore_backup(
            folder / "backup.db", folder / "back.db", cipher=ciphers(copy / "keys")
        ).owners
        == 1
    )


def _respects_modes_of_file_and_folder(folder: Path) -> None:
    with open_memory(folder) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    heed_modes()
    store = folder / "memory.db"
    for place, mode in ((store, 0o400), (folder, 0o500)):
        before = place.stat().st_mode
        place.chmod(mode)
        with open_memory(folder) as memory:
            alice = memory.owner("alice")
            found = stored_texts(alice)
            assert "Lives in Oslo" in found
            with pytest.raises(StoreReadOnly, match="not writable"):
                alice.remember("Works at NASA")
            assert stored_texts(alice) == found
            place.chmod(before)
            alice.remember(f"Mode was {mode}")  # without reopening it
            assert stored_texts(alice) == {*found, f"Mode was {mode}"}
        with open_memory(folder) as memory:
            assert f"Mode was {mode}" in stored_texts(memory.owner("alice"))
            assert memory.verify().is_clean


def _refuses_an_older_schema(folder: Path) -> None:
    mount_tmpfs(folder, 8_000)
    open_memory(folder, "plain").close()
    with closing(apsw.Connection(str(folder / "memory.db"))) as older:
        older.execute("PRAGMA user_version = 0; PRAGMA journal_mode = DELETE")
        older.execute(f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
    make_read_only(folder)
    files = bytes_of(folder)
    with pytest.raises(StoreReadOnly, match="must be migrated"):
        open_memory(folder, "plain")
    assert bytes_of(folder) == files


def _works_with_read_only_keys(folder: Path) -> None:
    keys = folder / "keys"
    keys.mkdir()
    mount_tmpfs(keys, 1_000)
    with open_memory(folder) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    (keys / "key.new").write_bytes(format_key(generate_key()))  # left by an interrupted rotation
    make_read_only(keys)
    files = bytes_of(keys)
    with open_memory(folder) as memory:
        assert stored_texts(memory.owner("alice")) == {"Lives in Oslo"}
        memory.remember("Works at NASA", owner="alice")
        for refused in (memory.rotate_key, lambda owner: memory.remember("x", owner=owner)):
            with pytest.raises(StoreReadOnly, match=r"key\.ring is read-only"):
                refused("bob" if refused != memory.rotate_key else "alice")
        assert memory.owners() == ["alice"]
        assert memory.verify().is_clean
    with pytest.raises(StoreReadOnly):
        open_memory(folder / "another", keys=keys)
    assert bytes_of(keys) == files


def _reports_error_on_command_line(folder: Path) -> None:
    mount_tmpfs(folder, 8_000)
    store = ("--store", str(folder / "memory.db"), "--owner", "alice")
    with Memolith.open(folder / "memory.db", cipher=PlainCipher()) as memory:
        id_ = memory.remember("Lives in Oslo", key="home", owner="alice").id
    make_read_only(folder)
    runner = CliRunner(env={"MEMOLITH_ENABLE_ENCRYPTION": "false"})
    read = runner.invoke(cli, ["show", id_, *store])
    assert (read.exit_code, read.stderr) == (0, "")
    refused = runner.invoke(cli, ["forget", id_, *store])
    assert refused.exit_code == 17
    assert refused.stderr == f"memolith: {store[1]} is read-only: the file is not writable\n"


class Writer:
    """A second process that writes to the store and keeps it open until `close`."""

    def __init__(self, folder: Path) -> None:
        context = get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_write, args=(other, folder), daemon=True)
        self._process.start()

    def __call__(self, content: str) -> None:
        self._pipe.send(content)
        self._pipe.recv()

    def close(self) -> None:
        self("")


def _write(pipe: Pipe, folder: Path) -> None:
    memory: Memolith | None = None
    with suppress(EOFError):
        while True:
            content = pipe.recv()
            memory = memory or open_memory(folder)
            if content:
                memory.remember(content, owner="alice")
            else:
                memory.close()
                memory = None
            pipe.send("done")


def stored_texts(alice: OwnerMemory) -> set[str]:
    return {one.content for one in alice.list().memories}


@pytest.mark.parametrize(
    "body",
    [
        _sees_writes_through_another_mount,
        _reads_wal_without_its_index,
        _respects_modes_of_file_and_folder,
        _refuses_an_older_schema,
        _works_with_read_only_keys,
        _reports_error_on_command_line,
    ],
    ids=lambda body: body.__name__.strip("_"),
)
def test_store_handles_read_only_storage(tmp_path: Path, body: Callable[[Path], None]) -> None:
    run_apart(body, tmp_path)
