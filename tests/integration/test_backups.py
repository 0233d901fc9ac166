"""Backups: consistent while in use, checked before they replace anything, without the erased."""

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


def opened(path: Path | str, *, encrypted: bool = False) -> Memolith:
    cipher = None if encrypted else PlainCipher()
    return Memolith.open(path, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=cipher)


def restore(backup: Path, store: Path, *, force: bool = False) -> object:
    return Memolith.restore_backup(backup, store, force=force, cipher=PlainCipher())


def fill(path: Path) -> None:
    with opened(path) as memory:
        for owner in ("alice", "bob"):
            memory.learn(f"I live in {owner}ville. It rains.", "I see.", owner=owner)
            memory.remember(f"The gnome of {owner} is called Zyxglorp", owner=owner)


@pytest.mark.parametrize("encrypted", [False, True])
def test_what_was_backed_up_comes_back_as_it_was(tmp_path: Path, *, encrypted: bool) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "kept" / "copy.db"
    with opened(store, encrypted=encrypted) as memory:
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
    with opened(store, encrypted=encrypted) as memory:
        assert memory.get(stored.id, owner="alice") == stored
        assert memory.recall("gnome", owner="alice").memories[0].id == stored.id
        memory.remember("And more", owner="alice")
    with opened(done.previous_store, encrypted=encrypted) as before:
        assert before.get(stored.id, owner="alice").state == "forgotten"
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


def test_who_was_erased_since_stays_gone_and_others_are_whole(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with opened(store) as memory:
        memory.backup(backup)
        memory.erase("alice")
        bobs = list(memory.export(owner="bob"))
    assert b"aliceville" in backup.read_bytes()
    done = Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher())
    assert (done.owners, done.erased_owners) == (1, 1)
    assert b"alice" not in store.read_bytes()
    with opened(store) as memory:
        assert memory.owners() == ["bob"]
        assert list(memory.export(owner="bob")) == bobs
        with pytest.raises(OwnerErased):
            memory.remember("Back again", owner="alice")


def test_the_erased_stay_gone_from_a_backup_of_another_store_too(tmp_path: Path) -> None:
    store, other, backup = (tmp_path / name for name in ("memory.db", "other.db", "copy.db"))
    fill(store)
    with opened(other, encrypted=True) as memory:
        memory.remember("Lives in Oslo", owner="alice")
        memory.backup(backup)
    with opened(store) as memory:
        memory.erase("alice")
    done = Memolith.restore_backup(backup, store, force=True)
    assert done.erased_owners == 1
    with opened(store, encrypted=True) as memory, pytest.raises(OwnerErased):
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


def test_a_backup_made_while_another_process_writes_is_of_one_instant(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(store)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        try:
            writer.stdout.readline()
            with opened(store) as memory:
                for _ in range(5):
                    writer.stdout.readline()
                    memory.backup(backup, overwrite=True)
        finally:
            writer.kill()
    with opened(backup) as memory:
        assert memory.verify().findings == ()
        stats = memory.stats(owner="alice")
        assert stats.messages == 2 * (stats.total_count - 1) > 4  # whole exchanges only
        said = memory.messages(owner="alice")
        assert [message.sequence for message in said] == list(range(1, len(said) + 1))


def test_a_store_that_is_open_is_not_replaced(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with opened(store) as memory:
        memory.backup(backup)
        config = tmp_path / "memolith.toml"
        config.write_text("[memory]\nbusy_timeout_s = 0.1\n")
        with pytest.raises(StoreUnavailable, match="open in another program"):
            Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher(), config=config)
        memory.remember("Still here", owner="alice")
    with opened(store) as memory:
        assert memory.recall("Still here", owner="alice").memories


def test_a_backup_takes_nobodys_place_unasked(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with opened(store) as memory:
        backup.write_text("mine")
        with pytest.raises(Conflict, match="already"):
            memory.backup(backup)
        assert backup.read_text() == "mine"
        for wrong in (store, tmp_path / "memory.db-wal"):
            with pytest.raises(Conflict):
                memory.backup(wrong, overwrite=True)
        memory.backup(backup, overwrite=True)
    with opened(":memory:") as memory, pytest.raises(InvalidInput):
        memory.backup(backup, overwrite=True)


def test_what_is_no_good_backup_replaces_nothing(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with opened(store) as memory:
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
    with opened(sealed, encrypted=True) as memory:
        memory.remember("Lives in Oslo", owner="alice")
    with pytest.raises(KeyUnavailable):
        restore(sealed, store, force=True)
    with pytest.raises(Conflict):
        restore(store, store, force=True)
    assert store.read_bytes() == whole
    assert not [path for path in tmp_path.iterdir() if path.name.endswith((".part", "-restore"))]


def test_a_damaged_store_gives_way_and_is_kept(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with opened(store) as memory:
        memory.backup(backup)
    store.write_bytes(b"rubbish" * 1000)
    done = Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher())
    assert not done.erasures_known
    assert isinstance(done.previous_store, Path)
    assert done.previous_store.read_bytes() == b"rubbish" * 1000
    again = Memolith.restore_backup(backup, store, force=True, cipher=PlainCipher())
    assert again.previous_store == tmp_path / "memory.db.before-restore-2"
    with opened(store) as memory:
        assert memory.owners() == ["alice", "bob"]


def test_a_backup_is_restored_where_there_is_nothing(tmp_path: Path) -> None:
    store, backup = tmp_path / "memory.db", tmp_path / "copy.db"
    fill(store)
    with opened(store) as memory:
        memory.backup(backup)
    shutil.rmtree(tmp_path / "new", ignore_errors=True)
    done = Memolith.restore_backup(backup, tmp_path / "new" / "memory.db", cipher=PlainCipher())
    assert done.previous_store is None
    with opened(done.store) as memory:
        assert memory.owners() == ["alice", "bob"]


async def _asynchronously(store: Path, backup: Path) -> None:
    async with await AsyncMemolith.open(
        store, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
    ) as memory:
        await memory.backup(backup)
    await AsyncMemolith.restore_backup(backup, store, force=True, cipher=PlainCipher())


def test_asynchronous_programs_can_do_it_too(tmp_path: Path) -> None:
    import asyncio

    fill(tmp_path / "memory.db")
    asyncio.run(_asynchronously(tmp_path / "memory.db", tmp_path / "copy.db"))
    assert (tmp_path / "memory.db.before-restore").exists()
