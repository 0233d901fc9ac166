"""Backups of PostgreSQL stores, and restores into the other kind of store."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg import sql

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.crypto.xchacha import XChaChaCipher
from memolith.adapters.sql.store import MigrationMixin
from memolith.adapters.sql.tables import OWNER_FACTS, OWNERS
from memolith.config import load
from memolith.errors import (
    Conflict,
    KeyUnavailable,
    NotFound,
    OwnerErased,
    StoreDamaged,
    StoreUnavailable,
    WrongEmbeddingModel,
)
from memolith.ports.admin import RestoreResult
from memolith.ports.models import TextRole
from memolith.stores import reset_store
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from support.mount_namespace import filled, mount_tmpfs, run_apart
from support.postgres import schemas_like
from support.store_migration import Places, Rows, changed, places
from unit.cli.conftest import Program, WithoutModel

GENERATION = OWNER_FACTS.index("generation")


@pytest.fixture
def at(tmp_path: Path, postgres_url: str, clock: SettableClock) -> Iterator[Places]:
    with places(tmp_path, postgres_url, clock) as made:
        yield made


@pytest.fixture
def plain(tmp_path: Path, postgres_url: str, clock: SettableClock) -> Iterator[Places]:
    with places(tmp_path, postgres_url, clock, encrypted=False) as made:
        yield made


def fill_store(at: Places, name: str) -> Places:
    with at.opened(name) as memory:
        for owner in ("alice", "bob"):
            memory.learn(f"I live in {owner}ville. It rains \0.", "I see.", owner=owner)
            memory.remember(f"The gnome of {owner} is called Zyxglorp", owner=owner, key="gnome")
    return at


def restore(
    at: Places, backup: Path, to: str, *, force: bool = False, keys_of: str | None = None
) -> RestoreResult:
    return Memolith.restore_backup(
        backup,
        at.urls[to],
        force=force,
        keys_of=keys_of and at.urls[keys_of],
        config=at.config,
        cipher=at.ciphers,
    )


def schemas(at: Places, server: str) -> list[str]:
    return schemas_like(server, at.config.settings.postgres.schema)


def drop_generations(rows: Rows) -> Rows:
    return {
        (owner, table): [(*row[:GENERATION], *row[GENERATION + 1 :]) for row in found]
        if table == OWNERS
        else found
        for (owner, table), found in rows.items()
    }


@pytest.mark.parametrize("source", ["server", "file"])
@pytest.mark.parametrize("to", ["server", "back"])
def test_backup_of_either_database_restores_into_either(
    at: Places, tmp_path: Path, source: str, to: str
) -> None:
    backup = tmp_path / "kept" / "copy.db"
    with fill_store(at, source).opened(source) as memory:
        assert memory.backup(backup) == backup.stat().st_size
    assert [each.name for each in backup.parent.iterdir()] == ["copy.db"]
    assert backup.stat().st_mode & 0o077 == 0
    rows, answers = at.rows(source), at.answers(source)
    if to == source:
        with at.opened(source) as memory:
            memory.purge(key="gnome", owner="bob")
            memory.remember("Since then", owner="dora")
        with pytest.raises(Conflict, match="already"):
            restore(at, backup, to)
    done = restore(at, backup, to, force=to == source, keys_of=source)
    assert (done.owners, done.erased_owners, done.erasures_known) == (2, 0, True)
    assert (done.previous_store is None) == (to != source)
    found = at.rows(to)
    assert drop_generations(found) == drop_generations(rows)
    if to != source:
        assert found == rows
    assert at.answers(to) == answers
    with at.opened(to) as memory:
        assert memory.verify().findings == ()
        memory.remember("And more", owner="alice")


@pytest.mark.parametrize("to", ["server", "back"])
def test_backup_during_reembedding_can_resume_reembedding(
    at: Places, tmp_path: Path, to: str
) -> None:
    backup = tmp_path / "copy.db"
    fill_store(at, "server")

    def reembed(name: str, embedder: HashingEmbedder) -> None:
        url = at.urls[name]
        Memolith.reembed(url, embedder=embedder, config=at.config, cipher=at.ciphers)

    class BackingUp(HashingEmbedder):
        """Backs the store up during each call."""

        def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
            with at.opened("server") as memory:
                memory.backup(backup, overwrite=True)
            return super().embed(texts, role=role)

    reembed("server", BackingUp(64))
    restore(at, backup, to, force=True, keys_of="server")
    with at.opened(to) as memory:  # vectors of the old model
        assert memory.recall("gnome", owner="alice").memories
    reembed(to, HashingEmbedder(64))
    with pytest.raises(WrongEmbeddingModel):
        at.opened(to)
    with Memolith.open(
        at.urls[to],
        embedder=HashingEmbedder(64),
        tokens=WordCounter(),
        config=at.config,
        cipher=at.ciphers,
    ) as memory:
        assert memory.verify().findings == ()
        memory.backup(backup, overwrite=True)
    rows = at.rows(to)
    restore(at, backup, to, force=True)
    assert drop_generations(at.rows(to)) == drop_generations(rows)


def test_restore_renames_old_schema_and_open_engine_reads_new(
    plain: Places, tmp_path: Path, postgres_url: str
) -> None:
    backup = tmp_path / "copy.db"
    name = plain.config.settings.postgres.schema
    with fill_store(plain, "server").opened("server") as memory:
        memory.backup(backup)
        for _ in range(2):
            memory.remember("Since then", owner="alice", key="since")
            memory.recall("gnome", owner="alice")
            done = restore(plain, backup, "server", force=True)
            assert not memory.recall("Since then", owner="alice", mode="keyword").memories
            assert memory.recall("gnome", owner="alice").memories
            # As many writes as before the restore: only the owner's state differs.
            memory.remember("Another thing", owner="alice", key="since")
            memory.recall("gnome", owner="alice")
            found = memory.recall("Another thing", owner="alice", mode="keyword")
            assert [each.record.content for each in found.memories] == ["Another thing"]
    assert done.previous_store == f"schema {name}_before_restore_2"
    assert schemas(plain, postgres_url) == [
        name,
        f"{name}_before_restore",
        f"{name}_before_restore_2",
    ]
    reset_store(replace(plain.config.settings, store=plain.urls["server"]))
    assert schemas(plain, postgres_url) == []


def test_restore_leaves_out_owner_erased_since_backup(at: Places, tmp_path: Path) -> None:
    backup = tmp_path / "copy.db"
    with fill_store(at, "server").opened("server") as memory:
        memory.backup(backup)
        memory.erase("alice")
    done = restore(at, backup, "server", force=True)
    assert (done.owners, done.erased_owners) == (1, 1)
    with at.opened("server") as memory:
        assert memory.owners() == ["bob"]
        with pytest.raises(OwnerErased):
            memory.remember("Back again", owner="alice")


def test_restore_from_other_store_leaves_out_erased_owner(at: Places, tmp_path: Path) -> None:
    backup = tmp_path / "copy.db"
    with fill_store(at, "file").opened("file") as memory:
        memory.backup(backup)
    with fill_store(at, "server").opened("server") as memory:
        memory.erase("alice")
    done = restore(at, backup, "server", force=True, keys_of="file")
    assert (done.owners, done.erased_owners) == (1, 1)
    with at.opened("server") as memory, pytest.raises(OwnerErased):
        memory.remember("Back again", owner="alice")


def test_backup_of_encrypted_store_contains_no_key_or_plaintext(at: Places, tmp_path: Path) -> None:
    backup = tmp_path / "copy.db"
    with fill_store(at, "server").opened("server") as memory:
        memory.backup(backup)
        store = memory._app.store
        assert isinstance(store, MigrationMixin)
        cipher = store.cipher  # type: ignore[attr-defined]
        assert isinstance(cipher, XChaChaCipher)
        secrets = [cipher.get_key("alice", 1), cipher.get_key("bob", 1), cipher._store_key]
    content = backup.read_bytes()
    for secret in secrets:
        assert len(secret) == 32
        assert secret not in content
        assert secret.hex().encode() not in content
    assert b"Zyxglorp" not in content
    assert b"ville" not in content


def test_backup_during_writes_is_a_consistent_snapshot(plain: Places, tmp_path: Path) -> None:
    backup = tmp_path / "copy.db"
    fill_store(plain, "server")
    stopped, wrote = threading.Event(), threading.Event()

    def write() -> None:
        with plain.opened("server") as memory:
            for number in range(10_000):
                for owner in ("alice", "bob"):
                    memory.learn(f"I like number {number}.", "I see.", owner=owner)
                wrote.set()
                if stopped.is_set():
                    return

    writer = threading.Thread(target=write)
    writer.start()
    sizes = []
    try:
        with plain.opened("server") as memory:
            for _ in range(3):
                wrote.clear()
                wrote.wait(30)
                memory.backup(backup, overwrite=True)
                with Places({"copy": str(backup)}, plain.config, False, plain.clock).opened(
                    "copy"
                ) as copy:
                    counts = [copy.stats(owner=owner).messages for owner in ("alice", "bob")]
                    assert counts[0] - counts[1] in (0, 2)
                    assert copy.verify().findings == ()
                    sizes.append(counts[0])
    finally:
        stopped.set()
        writer.join()
    assert sizes == sorted(sizes)
    assert sizes[-1] > 2  # more than before the writer started


def test_invalid_or_keyless_backup_changes_nothing(
    at: Places, tmp_path: Path, postgres_url: str
) -> None:
    backup, damaged = tmp_path / "copy.db", tmp_path / "damaged.db"
    with fill_store(at, "server").opened("server") as memory:
        memory.backup(backup)
    rows, before = at.rows("server"), schemas(at, postgres_url)
    content = bytearray(backup.read_bytes())
    content[3 * 4096 : 5 * 4096] = b"\xff" * 8192
    damaged.write_bytes(content)
    with pytest.raises(StoreDamaged):
        restore(at, damaged, "server", force=True)
    with pytest.raises(NotFound):
        restore(at, tmp_path / "nowhere.db", "server", force=True)
    shutil.copyfile(backup, damaged)
    changed(str(damaged), "UPDATE meta SET value = randomblob(16) WHERE name = 'store_id'")
    with pytest.raises(KeyUnavailable):
        restore(at, damaged, "server", force=True)
    with pytest.raises(Conflict):
        restore(at, backup, "server")
    assert (at.rows("server"), schemas(at, postgres_url)) == (rows, before)


def test_restore_times_out_behind_a_writer(
    plain: Places, tmp_path: Path, postgres_url: str
) -> None:
    backup = tmp_path / "copy.db"
    with fill_store(plain, "server").opened("server") as memory:
        memory.backup(backup)
    rows, before = plain.rows("server"), schemas(plain, postgres_url)
    name = sql.Identifier(plain.config.settings.postgres.schema)
    with psycopg.connect(postgres_url) as writer:
        writer.execute(sql.SQL("SELECT 1 FROM {}.owners FOR UPDATE").format(name))
        with pytest.raises(StoreUnavailable, match="locked"):
            restore(plain, backup, "server", force=True)
    assert (plain.rows("server"), schemas(plain, postgres_url)) == (rows, before)


def _back_up_to_full_disk(folder: Path, url: str, schema: str) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount_tmpfs(disk, 1_000)
    config = load(None, {}, {"postgres.schema": schema})
    with Memolith.open(
        url, config=config, cipher=PlainCipher(), embedder=HashingEmbedder(), worker=False
    ) as memory:
        with filled(disk, but_for_kilobytes=64), pytest.raises(StoreUnavailable, match="full"):
            memory.backup(disk / "copy.db")
        assert not [each for each in disk.iterdir() if each.name != "filler"]
        memory.backup(disk / "copy.db")


def test_backup_to_full_disk_leaves_no_file(plain: Places, tmp_path: Path) -> None:
    fill_store(plain, "server")
    run_apart(
        _back_up_to_full_disk,
        tmp_path,
        plain.urls["server"],
        plain.config.settings.postgres.schema,
    )


def test_backup_and_restore_commands_work_with_postgres(
    at: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_POSTGRES__SCHEMA", at.config.settings.postgres.schema)
    backup = tmp_path / "copy.db"
    fill_store(at, "server")

    program = Program(WithoutModel(at.clock))

    def run(*arguments: str) -> str:
        done = program(*arguments)
        assert done.code == 0, done.err
        return done.out

    run("backup", str(backup), "--store", at.urls["server"])
    assert "before_restore" in run(
        "restore-backup", str(backup), "--store", at.urls["server"], "--force"
    )
    back = ("--store", at.urls["back"])
    assert "2 owners" in run("restore-backup", str(backup), *back, "--keys-of", at.urls["server"])
    with at.opened("back") as memory:
        assert memory.recall("gnome", owner="alice").memories
