"""The commands that delete permanently, back up, restore and repair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.databases import execute


def test_purged_memory_cannot_be_restored(memolith: Any) -> None:
    id_ = memolith.json("remember", "Lives in Oslo", "--key", "home")["id"]
    memolith.ok("forget", id_)
    assert memolith.json("purge", id_, "--yes")["memories"] == [id_]
    assert memolith("restore", id_).code == 4
    memolith.ok("remember", "Lives in Bergen", "--key", "home")
    assert "1 memory" in memolith.ok("purge", "--key", "home", "--yes").out


def test_purge_needs_either_an_id_or_a_key(memolith: Any) -> None:
    assert memolith("purge", "--yes").code == 2
    assert memolith("purge", "x", "--key", "y", "--yes").code == 2


@pytest.mark.parametrize("command", [("purge", "--key", "home"), ("erase", "--owner", "tester")])
def test_nothing_is_deleted_without_confirmation(memolith: Any, command: tuple[str, ...]) -> None:
    memolith.ok("remember", "Lives in Oslo", "--key", "home")
    answer = memolith(*command)
    assert answer.code == 2
    assert "--yes" in answer.err
    assert len(memolith.json("list")["memories"]) == 1


def test_erased_owner_is_rejected_until_readmitted(memolith: Any) -> None:
    memolith.ok("remember", "Lives in Oslo")
    assert memolith.json("erase", "--owner", "tester", "--yes")["owner_id"] == "tester"
    assert memolith.json("list")["memories"] == []
    answer = memolith("remember", "Lives in Bergen")
    assert answer.code == 15
    assert "--readmit" in answer.err
    memolith.ok("erase", "--owner", "tester", "--readmit")
    memolith.ok("remember", "Lives in Bergen")


def test_erase_needs_an_existing_owner(memolith: Any) -> None:
    memolith.ok("remember", "Lives in Oslo")
    assert memolith("erase", "--yes").code == 2
    assert memolith("erase", "--owner", "tesret", "--yes").code == 4


@pytest.mark.sqlite
def test_backup_is_created_and_restored(memolith: Any, tmp_path: Path) -> None:
    memolith.ok("remember", "Lives in Oslo")
    assert memolith.json("backup", "copy.db")["bytes"] == (tmp_path / "copy.db").stat().st_size
    assert memolith("backup", "copy.db").code == 6
    memolith.ok("backup", "copy.db", "--force")
    memolith.ok("erase", "--owner", "tester", "--yes")
    assert memolith("restore-backup", "copy.db").code == 6
    restored = memolith.json("restore-backup", "copy.db", "--force")
    assert (restored["owners"], restored["erased_owners"]) == (0, 1)
    assert "before-restore" in memolith.ok("restore-backup", "copy.db", "--force").out
    assert memolith.json("list")["memories"] == []


def test_verify_reports_corruption_by_exit_code_and_repairs_it(
    memolith: Any, tmp_path: Path
) -> None:
    memolith.ok("remember", "Lives in Oslo", "--store", "m.db")
    assert "No damage found" in memolith.ok("verify", "--store", "m.db").out
    assert execute(tmp_path / "m.db", "DELETE FROM terms")
    answer = memolith("verify", "--store", "m.db")
    assert answer.code == 16
    assert "keywords" in answer.out
    report = memolith.json("verify", "--repair", "--store", "m.db")
    assert [(each["kind"], each["repaired"]) for each in report["findings"]] == [("terms", True)]
    memolith.ok("verify", "--store", "m.db")
