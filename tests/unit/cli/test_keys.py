"""`memolith key` and `memolith reset`."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def key(tmp_path: Path, memolith: Any) -> Path:
    """The key file of an encrypted store with one memory."""
    memolith.ok("remember", "The gate's code is 4711", "--store", "memory.db", "--owner", "alice")
    (found,) = (tmp_path / "home").rglob("memory_encryption.key")
    return found


def list_contents(memolith: Any, owner: str = "alice") -> list[str]:
    rows = memolith.json("list", "--store", "memory.db", "--owner", owner)["memories"]
    return [row["content"] for row in rows]


def test_location_of_keys_is_reported_once(memolith: Any, tmp_path: Path) -> None:
    first = memolith.ok("remember", "one", "--store", "memory.db")
    assert "back them up" in first.err
    assert str(tmp_path / "home") in first.err
    assert memolith.ok("remember", "two", "--store", "memory.db").err == ""


@pytest.mark.sqlite
@pytest.mark.usefixtures("key")
def test_store_file_contains_no_plaintext(tmp_path: Path) -> None:
    assert b"4711" not in (tmp_path / "memory.db").read_bytes()


def test_lost_keys_are_restored_from_a_backup(memolith: Any, key: Path, tmp_path: Path) -> None:
    memolith.ok("key", "backup", "keys.json")
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    for path in (key, key.with_name(f"{key.name}.ring")):
        path.unlink()
    lost = memolith("list", "--store", "memory.db", "--owner", "alice")
    assert lost.code == 9
    assert "memolith key restore" in lost.err
    memolith.ok("key", "restore", "keys.json")
    assert list_contents(memolith) == ["The gate's code is 4711"]


def test_key_backup_can_be_protected_by_a_passphrase(
    memolith: Any, key: Path, tmp_path: Path
) -> None:
    memolith.ok("key", "backup", "keys.json", "--passphrase", stdin="sesame\nsesame\n")
    assert key.read_text().strip() not in (tmp_path / "keys.json").read_text()
    key.unlink()
    key.with_name(f"{key.name}.ring").unlink()
    assert memolith("key", "restore", "keys.json", stdin="poppy\n").code == 9
    memolith.ok("key", "restore", "keys.json", stdin="sesame\n")
    assert list_contents(memolith) == ["The gate's code is 4711"]


def test_existing_keys_and_backups_are_not_overwritten(memolith: Any, key: Path) -> None:
    before = key.read_bytes()
    memolith.ok("key", "backup", "keys.json")
    assert memolith("key", "backup", "keys.json").code == 6
    assert memolith("key", "restore", "keys.json").code == 6
    assert key.read_bytes() == before


def test_rotate_replaces_master_and_owner_keys(memolith: Any, key: Path) -> None:
    before = key.read_bytes()
    said = memolith.ok("key", "rotate").out
    assert key.read_bytes() != before
    assert key.read_text().strip() not in said
    answer = memolith.json("key", "rotate", "--store", "memory.db", "--owner", "alice")
    assert answer == {"owner_id": "alice", "version": 2}
    assert list_contents(memolith) == ["The gate's code is 4711"]
    assert memolith("key", "rotate", "--store", "memory.db", "--owner", "nobody").code == 4


def test_rotate_replaces_a_master_key_from_the_environment(
    memolith: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOLITH_KEY", "aa" * 32)
    memolith.ok("remember", "The gate's code is 4711", "--store", "memory.db", "--owner", "alice")
    assert not list((tmp_path / "home").rglob("memory_encryption.key"))
    assert memolith("key", "rotate").code == 2
    monkeypatch.setenv("MEMOLITH_KEY_NEW", "bb" * 32)
    memolith.ok("key", "rotate")
    assert memolith("list", "--store", "memory.db", "--owner", "alice").code == 9
    monkeypatch.setenv("MEMOLITH_KEY", "bb" * 32)
    assert list_contents(memolith) == ["The gate's code is 4711"]
    monkeypatch.setenv("MEMOLITH_KEY", "hunter2")
    refused = memolith("list", "--store", "memory.db", "--owner", "alice")
    assert refused.code == 3
    assert "hunter2" not in refused.err


def test_key_backup_and_restore_need_a_file(memolith: Any) -> None:
    assert memolith("key", "backup").code == 2
    assert memolith("key", "restore").code == 2
    assert memolith("key", "rotate", "file").code == 2
    assert memolith("key", "backup", "keys.json").code == 9


@pytest.mark.sqlite
def test_reset_deletes_the_store_and_its_keys_and_nothing_else(
    memolith: Any, key: Path, tmp_path: Path
) -> None:
    memolith.ok("remember", "another store", "--store", "other.db")
    copy = (tmp_path / "memory.db").read_bytes()
    assert memolith("reset", "--store", "memory.db").code == 2
    gone = memolith.json("reset", "--store", "memory.db", "--yes")["deleted"]
    assert [Path(path).name for path in gone] == ["memory.db"]
    assert sorted(path.name for path in tmp_path.glob("*.db*")) == ["other.db"]
    (tmp_path / "memory.db").write_bytes(copy)
    assert memolith("list", "--store", "memory.db").code == 9
    memolith.ok("list", "--store", "other.db")
    key.unlink()
    memolith.ok("reset", "--store", "other.db", "--yes")
    memolith.ok("reset", "--store", "memory.db", "--yes")
    assert memolith.json("reset", "--store", "memory.db", "--yes")["deleted"] == []
    memolith.ok("remember", "started afresh", "--store", "memory.db")


def test_reset_does_not_delete_other_files(memolith: Any, tmp_path: Path) -> None:
    (tmp_path / "letters.db").write_bytes(b"Dear Anna, " * 1_000)
    assert memolith("reset", "--store", "letters.db", "--yes").code == 11
    assert (tmp_path / "letters.db").exists()
    assert memolith("reset", "--store", ":memory:", "--yes").code == 3


def test_demo_creates_no_keys(memolith: Any, tmp_path: Path) -> None:
    memolith.ok("demo", "--questions", "1")
    assert not list(tmp_path.rglob("*.ring"))
