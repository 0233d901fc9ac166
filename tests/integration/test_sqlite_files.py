"""Opening a SQLite store on new, existing, foreign, damaged, old and newer files."""

import os
from collections.abc import Callable
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import apsw
import pytest

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.opening import prepare
from memolith.adapters.sqlite.schema import APPLICATION_ID, MIGRATIONS
from memolith.adapters.sqlite.store import SqliteStore
from memolith.errors import (
    KeyUnavailable,
    MemolithError,
    StoreDamaged,
    StoreTooNew,
    StoreUnavailable,
)
from memolith.testing.builders import DIMENSION, memory, record_id
from memolith.testing.store_records import remember

pytestmark = pytest.mark.sqlite


def open_store(path: Path) -> SqliteStore:
    return SqliteStore.open(path, cipher=PlainCipher(), busy_timeout_s=0.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one memory."""
    file = tmp_path / "memory.db"
    store = open_store(file)
    remember_one(store)
    store.close()
    return file


def remember_one(store: SqliteStore, number: int = 1) -> None:
    store.adopt_embedder("builders", 8)
    remember(store, memory(number))


def read_one(store: SqliteStore) -> int:
    with store.read("alice") as snapshot:
        return len(snapshot.memories([record_id(1)]))


def test_new_file_is_created_with_its_folder(tmp_path: Path) -> None:
    store = open_store(tmp_path / "a" / "b" / "memory.db")
    assert store.owners() == []
    store.close()
    assert (tmp_path / "a" / "b" / "memory.db").exists()


def test_empty_file_becomes_a_store(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    file.touch()
    store = open_store(file)
    remember_one(store)
    store.close()
    assert read_one(open_store(file)) == 1


def test_written_memory_is_present_after_reopening(path: Path) -> None:
    store = open_store(path)
    assert read_one(store) == 1
    assert store.meta.embedder == "builders"
    store.close()


def test_closed_store_leaves_one_file_and_no_open_descriptors(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    store = open_store(file)
    remember_one(store)
    with store.read("alice") as one, store.read("alice") as two:
        assert one.counter == two.counter == 1
    store.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory.db"]
    opened = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    assert not [target for target in opened if target.is_relative_to(tmp_path)]


def test_snapshot_returned_after_closing_is_closed(path: Path) -> None:
    store = open_store(path)
    with store.read("alice") as snapshot:
        store.close()
        assert len(snapshot.memories([record_id(1)])) == 1
    opened = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    assert not [target for target in opened if target.is_relative_to(path.parent)]


@pytest.mark.parametrize(
    "content",
    [b"x", b"not a database, but long enough to look like one " * 100, b"SQLite format 3\0"],
)
def test_file_that_is_not_a_database_is_refused_unchanged(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "memory.db"
    file.write_bytes(content)
    with pytest.raises(StoreDamaged):
        open_store(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_database_of_another_program_is_refused_unchanged(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "memory.db"
    with closing(apsw.Connection(str(file))) as other:
        other.execute(f"PRAGMA journal_mode = {mode}")
        other.execute("CREATE TABLE theirs (x)")
    before = file.read_bytes()
    with pytest.raises(StoreDamaged):
        open_store(file)
    assert file.read_bytes() == before


def test_newer_schema_is_refused_unchanged(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew) as refused:
        open_store(path)
    assert (refused.value.schema_version, refused.value.supported_version) == (
        len(MIGRATIONS) + 1,
        len(MIGRATIONS),
    )
    assert path.read_bytes() == before


def test_store_with_another_cipher_is_refused(path: Path) -> None:
    class Other(PlainCipher):
        name = "other"

    with pytest.raises(KeyUnavailable):
        SqliteStore.open(path, cipher=Other())


def test_folder_as_store_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        open_store(tmp_path)
    assert str(tmp_path) in str(refused.value)


def test_store_in_a_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailable):
        open_store(tmp_path / "file" / "memory.db")


def _truncate(content: bytes) -> bytes:
    return content[: len(content) // 3]


def _overwrite(content: bytes) -> bytes:
    return content[:4096] + b"\xa5" * (len(content) - 4096)


def _break_header(content: bytes) -> bytes:
    return b"\0" * 16 + content[16:]


@pytest.mark.parametrize("damage", [_truncate, _overwrite, _break_header])
def test_damaged_file_raises_store_damaged(path: Path, damage: Callable[[bytes], bytes]) -> None:
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreDamaged):
        read_one(open_store(path))


def test_missing_table_raises_store_damaged(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("DROP TABLE memories")
    store = open_store(path)
    with pytest.raises(StoreDamaged):
        read_one(store)
    store.close()


def test_old_store_is_copied_and_migrated(path: Path) -> None:
    newer = (*MIGRATIONS, "ALTER TABLE owners ADD COLUMN colour TEXT")
    prepare(path, ciphers=PlainCipher(), analyser=1, busy_timeout_s=1, migrations=newer)
    with closing(apsw.Connection(str(path))) as now:
        assert now.execute("PRAGMA user_version").fetchone() == (len(newer),)
        assert now.execute("SELECT name, colour FROM owners").fetchall() == [("alice", None)]
    copy = path.with_name(f"memory.db.before-{len(newer)}")
    assert read_one(open_store(copy)) == 1


def test_failed_migration_is_rolled_back(path: Path) -> None:
    newer = (*MIGRATIONS, "CREATE TABLE half (x); SELECT nonsense FROM nowhere")
    with pytest.raises(MemolithError):
        prepare(path, ciphers=PlainCipher(), analyser=1, busy_timeout_s=1, migrations=newer)
    store = open_store(path)
    assert read_one(store) == 1
    store.close()
    with closing(apsw.Connection(str(path))) as now:
        assert not now.execute("SELECT * FROM sqlite_schema WHERE name = 'half'").fetchall()


def test_file_has_the_application_id(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as other:
        assert other.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_error_for_a_mnemon_store_names_mnemon(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as other:
        other.execute("PRAGMA application_id = 0x4D6E656D")
    with pytest.raises(StoreDamaged, match="created by Mnemon"):
        open_store(path)


def _open_and_remember(path: str, number: int) -> None:
    store = SqliteStore.open(path, cipher=PlainCipher(), busy_timeout_s=30)
    remember_one(store, number)
    store.close()


def test_concurrent_processes_can_open_a_new_file(tmp_path: Path) -> None:
    context = get_context("spawn")
    file = str(tmp_path / "memory.db")
    workers = [context.Process(target=_open_and_remember, args=(file, n)) for n in (1, 2, 3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    store = open_store(tmp_path / "memory.db")
    with store.read("alice") as snapshot:
        assert len(snapshot.memories([record_id(n) for n in (1, 2, 3)])) == 3
    store.close()


def test_new_store_files_are_private_to_the_user(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        with closing(open_store(tmp_path / "memory.db")) as store:
            store.adopt_embedder("model", DIMENSION)
            remember(store, memory(1))
            assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    finally:
        os.umask(umask)
