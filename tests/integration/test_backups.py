"""Backups: consistent while in use, validated before a restore, without erased owners."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memolith import AsyncMemolith, Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.errors import (
    Conflict,
    InvalidInput,
    KeyUnavailable,
    NotFound,
    OwnerErased,
    StoreDamaged,
    StoreUnavailable,
)
from memolith.testing.fakes import HashingEmbedder, WordCounter

pytestmark = pytest.mark.sqlite


def open_store(path: Path | str, *, encrypted: bool = False) -> Memolith:
    cipher = None if encrypted else PlainCipher()
    return Memolith.open(path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=cipher)


def restore(backup: Path, store: Path, *, force: bool = False) -> object:
    return Memolith.restore_backup(backup, store, force=force, cipher=PlainCipher())


def fill(path: Path) -> None:
    with open_store(path) as memory:
        for owner in ("alice", "bob"):
            memory.learn(f"I live in {owner}ville. It rains.", "I see.", owner=owner)
            memory.remember(f"The gnome of {owner} is called Zyxglorp", owner=owner)


@pytest.mark.parametrize("encrypted", [False, True])
def test_restored_backup_equals_original_store(tmp_path: Path, *, encrypted: bool) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "kept" / "copy.db"
    with open_store(store, encrypted=encrypted) as memory:
        stored = memory.remember("The gnome is called Zyxglorp", owner="alice")
        size = memory.backup(backup)
        assert size == backup.stat().st_size
        memory.forget(stored.id, owner="alice")
    assert [path.name for path in backup.parent.iterdir()] == ["copy.db"]
    assert backup.stat().st_mode & 0o077 == 0
    cipher = None if encrypted else PlainCipher()
    with pytest.raises(Conflict, match="already"):
        Memolith.restore_backup(backup, store, cipher=cipher)
    done = Memolith.restore_backup(backup, store, force=True, cipher=cipher)
    assert (done.owners, done.erased_owners, done.erasures_known) == (1, 0, True)
    assert done.previous_store == tmp_path / "memory.db.before-restore"
    with open_store(store, encrypted=encrypted) as memory:
        assert memory.get(stored.id, owner="alice") == stored
        assert memory.recall("gnome", owner="alice").memories[0].id == stored.id
        memory.remember("And more", owner="alice")
    with open_store(done.previous_store, encrypted=encrypted) as before:
        assert before.get(stored.id, owner="alice").state == "forgotten"
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_restore_leaves_out_owners_erased_since_backup(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with open_store(store) as memory:
        memory.backup(backup)
        memory.erase("alice")
        bobs = list(memory.export(owner="bob"))
    assert b"aliceville" in backup.read_bytes()
    done = Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher())
    assert (done.owners, done.erased_owners) == (1, 1)
    assert b"alice" not in store.read_bytes()
    with open_store(store) as memory:
        assert memory.owners() == ["bob"]
        assert list(memory.export(owner="bob")) == bobs
        with pytest.raises(OwnerErased):
            memory.remember("Back again", owner="alice")


def test_restore_of_other_stores_backup_leaves_out_erased_owners(tmp_path: Path) -> None:
    store, other, backup = (tmp_path / name for name in ("memory.db", "other.db", "copy.db"))
    fill(store)
    with open_store(other, encrypted=True) as memory:
        memory.remember("Lives in Oslo", owner="alice")
        memory.backup(backup)
    with open_store(store) as memory:
        memory.erase("alice")
    done = Memolith.restore_backup(backup, store, force=True)
    assert done.erased_owners == 1
    with open_store(store, encrypted=True) as memory, pytest.raises(OwnerErased):
        memory.remember("Back again", owner="alice")


WRITER = """
import sys
from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.testing.fakes import HashingEmbedder, WordCounter
with Memolith.open(
    sys.argv[1], embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
) as memory:
    for number in range(100_000):
        memory.learn(f"I like number {number} best.", "I see.", owner="alice")
        print(number, flush=True)
"""


def test_backup_during_writes_is_a_consistent_snapshot(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(store)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        try:
            writer.stdout.readline()
            with open_store(store) as memory:
                for _ in range(5):
                    writer.stdout.readline()
                    memory.backup(backup, overwrite=True)
        finally:
            writer.kill()
    with open_store(backup) as memory:
        assert memory.verify().findings == ()
        stats = memory.stats(owner="alice")
        assert stats.messages == 2 * (stats.total_count - 1) > 4  # whole exchanges only
        messages = memory.messages(owner="alice")
        assert [message.sequence for message in messages] == list(range(1, len(messages) + 1))


def test_restore_refuses_to_replace_open_store(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with open_store(store) as memory:
        memory.backup(backup)
        config = tmp_path / "memolith.toml"
        config.write_text("[memory]\nbusy_timeout_s = 0.1\n")
        with pytest.raises(StoreUnavailable, match="open in another program"):
            Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher(), config=config)
        memory.remember("Still here", owner="alice")
    with open_store(store) as memory:
        assert memory.recall("Still here", owner="alice").memories


def test_backup_does_not_overwrite_file_by_default(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with open_store(store) as memory:
        backup.write_text("mine")
        with pytest.raises(Conflict, match="already"):
            memory.backup(backup)
        assert backup.read_text() == "mine"
        for wrong in (store, tmp_path / "memory.db-wal"):
            with pytest.raises(Conflict):
                memory.backup(wrong, overwrite=True)
        memory.backup(backup, overwrite=True)
    with open_store(":memory:") as memory, pytest.raises(InvalidInput):
        memory.backup(backup, overwrite=True)


def test_invalid_backup_does_not_replace_store(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with open_store(store) as memory:
        memory.backup(backup)
    whole = store.read_bytes()
    with pytest.raises(NotFound):
        restore(tmp_path / "nowhere.db", store, force=True)
    for name, content in (
        ("text", b"x" * 5_000),
        ("empty", b""),
        ("cut", backup.read_bytes()[:9000]),
    ):
        bad = tmp_path / name
        bad.write_bytes(content)
        with pytest.raises(StoreDamaged):
            restore(bad, store, force=True)
    damaged = bytearray(backup.read_bytes())
    damaged[3 * 4096 : 5 * 4096] = b"\xff" * 8192
    (tmp_path / "damaged").write_bytes(damaged)
    with pytest.raises(StoreDamaged):
        restore(tmp_path / "damaged", store, force=True)
    sealed = tmp_path / "sealed.db"
    with open_store(sealed, encrypted=True) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    with pytest.raises(KeyUnavailable):
        restore(sealed, store, force=True)
    with pytest.raises(Conflict):
        restore(store, store, force=True)
    assert store.read_bytes() == whole
    assert not [path for path in tmp_path.iterdir() if path.name.endswith((".part", "-restore"))]


def test_restore_moves_damaged_store_aside(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with open_store(store) as memory:
        memory.backup(backup)
    store.write_bytes(b"rubbish" * 1000)
    done = Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher())
    assert not done.erasures_known
    assert isinstance(done.previous_store, Path)
    assert done.previous_store.read_bytes() == b"rubbish" * 1000
    again = Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher())
    assert again.previous_store == tmp_path / "memory.db.before-restore-2"
    with open_store(store) as memory:
        assert memory.owners() == ["alice", "bob"]


def test_backup_is_restored_to_new_path(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with open_store(store) as memory:
        memory.backup(backup)
    shutil.rmtree(tmp_path / "new", ignore_errors=True)
    done = Memolith.restore_backup(backup, tmp_path / "new" / "memory.db", cipher=PlainCipher())
    assert done.previous_store is None
    with open_store(done.store) as memory:
        assert memory.owners() == ["alice", "bob"]


async def _back_up_and_restore_async(store: Path, backup: Path) -> None:
    async with await AsyncMemolith.open(
        store, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
    ) as memory:
        await memory.backup(backup)
    await AsyncMemolith.restore_backup(backup, store, force=True, cipher=PlainCipher())


def test_async_engine_backs_up_and_restores(tmp_path: Path) -> None:
    import asyncio

    fill(tmp_path / "memory.db")
    asyncio.run(_back_up_and_restore_async(tmp_path / "memory.db", tmp_path / "copy.db"))
    assert (tmp_path / "memory.db.before-restore").exists()
