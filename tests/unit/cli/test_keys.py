"""`mnemon key` and `mnemon reset`."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def key(tmp_path: Path, mnemon: Any) -> Path:
    """An encrypted store with one memory; its key."""
    mnemon.ok("remember", "The gate's code is 4711", "--store", "memory.db", "--owner", "alice")
    (found,) = (tmp_path / "home").rglob("memory_encryption.key")
    return found


def recalled(mnemon: Any, owner: str = "alice") -> list[str]:
    rows = mnemon.json("list", "--store", "memory.db", "--owner", owner)["memories"]
    return [row["content"] for row in rows]


def test_the_first_store_says_once_where_the_keys_are(mnemon: Any, tmp_path: Path) -> None:
    first = mnemon.ok("remember", "one", "--store", "memory.db")
    assert "back them up" in first.err
    assert str(tmp_path / "home") in first.err
    assert mnemon.ok("remember", "two", "--store", "memory.db").err == ""


@pytest.mark.sqlite
@pytest.mark.usefixtures("key")
def test_what_is_remembered_does_not_stand_in_the_file(tmp_path: Path) -> None:
    assert b"4711" not in (tmp_path / "memory.db").read_bytes()


def test_keys_are_backed_up_and_brought_back(mnemon: Any, key: Path, tmp_path: Path) -> None:
    mnemon.ok("key", "backup", "keys.json")
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    for path in (key, key.with_name(f"{key.name}.ring")):
        path.unlink()
    lost = mnemon("list", "--store", "memory.db", "--owner", "alice")
    assert lost.code == 9
    assert "mnemon key restore" in lost.err
    mnemon.ok("key", "restore", "keys.json")
    assert recalled(mnemon) == ["The gate's code is 4711"]


def test_a_backup_can_be_protected_by_a_passphrase(mnemon: Any, key: Path, tmp_path: Path) -> None:
    mnemon.ok("key", "backup", "keys.json", "--passphrase", stdin="sesame\nsesame\n")
    assert key.read_text().strip() not in (tmp_path / "keys.json").read_text()
    key.unlink()
    key.with_name(f"{key.name}.ring").unlink()
    assert mnemon("key", "restore", "keys.json", stdin="poppy\n").code == 9
    mnemon.ok("key", "restore", "keys.json", stdin="sesame\n")
    assert recalled(mnemon) == ["The gate's code is 4711"]


def test_keys_that_are_there_are_not_written_over(mnemon: Any, key: Path) -> None:
    before = key.read_bytes()
    mnemon.ok("key", "backup", "keys.json")
    assert mnemon("key", "backup", "keys.json").code == 6
    assert mnemon("key", "restore", "keys.json").code == 6
    assert key.read_bytes() == before


def test_master_and_owner_keys_are_changed(mnemon: Any, key: Path) -> None:
    before = key.read_bytes()
    said = mnemon.ok("key", "rotate").out
    assert key.read_bytes() != before
    assert key.read_text().strip() not in said
    answer = mnemon.json("key", "rotate", "--store", "memory.db", "--owner", "alice")
    assert answer == {"owner_id": "alice", "version": 2}
    assert recalled(mnemon) == ["The gate's code is 4711"]
    assert mnemon("key", "rotate", "--store", "memory.db", "--owner", "nobody").code == 4


def test_a_key_of_the_environment_is_changed_for_another(
    mnemon: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMON_KEY", "aa" * 32)
    mnemon.ok("remember", "The gate's code is 4711", "--store", "memory.db", "--owner", "alice")
    assert not list((tmp_path / "home").rglob("memory_encryption.key"))
    assert mnemon("key", "rotate").code == 2
    monkeypatch.setenv("MNEMON_KEY_NEW", "bb" * 32)
    mnemon.ok("key", "rotate")
    assert mnemon("list", "--store", "memory.db", "--owner", "alice").code == 9
    monkeypatch.setenv("MNEMON_KEY", "bb" * 32)
    assert recalled(mnemon) == ["The gate's code is 4711"]
    monkeypatch.setenv("MNEMON_KEY", "hunter2")
    refused = mnemon("list", "--store", "memory.db", "--owner", "alice")
    assert refused.code == 3
    assert "hunter2" not in refused.err


def test_backup_and_restore_need_a_file(mnemon: Any) -> None:
    assert mnemon("key", "backup").code == 2
    assert mnemon("key", "restore").code == 2
    assert mnemon("key", "rotate", "file").code == 2
    assert mnemon("key", "backup", "keys.json").code == 9


@pytest.mark.sqlite
def test_reset_deletes_the_store_and_its_keys_and_nothing_else(
    mnemon: Any, key: Path, tmp_path: Path
) -> None:
    mnemon.ok("remember", "another store", "--store", "other.db")
    copy = (tmp_path / "memory.db").read_bytes()
    assert mnemon("reset", "--store", "memory.db").code == 2
    gone = mnemon.json("reset", "--store", "memory.db", "--yes")["deleted"]
    assert [Path(path).name for path in gone] == ["memory.db"]
    assert sorted(path.name for path in tmp_path.glob("*.db*")) == ["other.db"]
    (tmp_path / "memory.db").write_bytes(copy)
    assert mnemon("list", "--store", "memory.db").code == 9
    mnemon.ok("list", "--store", "other.db")
    key.unlink()
    mnemon.ok("reset", "--store", "other.db", "--yes")
    mnemon.ok("reset", "--store", "memory.db", "--yes")
    assert mnemon.json("reset", "--store", "memory.db", "--yes")["deleted"] == []
    mnemon.ok("remember", "started afresh", "--store", "memory.db")


def test_reset_leaves_alone_what_is_no_store(mnemon: Any, tmp_path: Path) -> None:
    (tmp_path / "letters.db").write_bytes(b"Dear Anna, " * 1_000)
    assert mnemon("reset", "--store", "letters.db", "--yes").code == 11
    assert (tmp_path / "letters.db").exists()
    assert mnemon("reset", "--store", ":memory:", "--yes").code == 3


def test_a_demo_makes_no_keys(mnemon: Any, tmp_path: Path) -> None:
    mnemon.ok("demo", "--questions", "1")
    assert not list(tmp_path.rglob("*.ring"))
