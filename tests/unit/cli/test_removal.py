"""The commands that remove for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from databases import execute


def test_a_purged_memory_is_gone_for_good(mnemon: Any) -> None:
    id_ = mnemon.json("remember", "Lives in Oslo", "--key", "home")["id"]
    mnemon.ok("forget", id_)
    assert mnemon.json("purge", id_, "--yes")["memories"] == [id_]
    assert mnemon("restore", id_).code == 4
    mnemon.ok("remember", "Lives in Bergen", "--key", "home")
    assert "1 memory" in mnemon.ok("purge", "--key", "home", "--yes").out


def test_purging_takes_an_id_or_a_key(mnemon: Any) -> None:
    assert mnemon("purge", "--yes").code == 2
    assert mnemon("purge", "x", "--key", "y", "--yes").code == 2


@pytest.mark.parametrize("command", [("purge", "--key", "home"), ("erase", "--owner", "tester")])
def test_without_somebody_to_ask_nothing_is_removed(mnemon: Any, command: tuple[str, ...]) -> None:
    mnemon.ok("remember", "Lives in Oslo", "--key", "home")
    answer = mnemon(*command)
    assert answer.code == 2
    assert "--yes" in answer.err
    assert len(mnemon.json("list")["memories"]) == 1


def test_an_erased_owner_is_gone_until_readmitted(mnemon: Any) -> None:
    mnemon.ok("remember", "Lives in Oslo")
    assert mnemon.json("erase", "--owner", "tester", "--yes")["owner_id"] == "tester"
    assert mnemon.json("list")["memories"] == []
    answer = mnemon("remember", "Lives in Bergen")
    assert answer.code == 15
    assert "--readmit" in answer.err
    mnemon.ok("erase", "--owner", "tester", "--readmit")
    mnemon.ok("remember", "Lives in Bergen")


def test_whom_to_erase_must_be_said(mnemon: Any) -> None:
    mnemon.ok("remember", "Lives in Oslo")
    assert mnemon("erase", "--yes").code == 2
    assert mnemon("erase", "--owner", "tesret", "--yes").code == 4


@pytest.mark.sqlite
def test_a_backup_is_made_and_restored(mnemon: Any, tmp_path: Path) -> None:
    mnemon.ok("remember", "Lives in Oslo")
    assert mnemon.json("backup", "copy.db")["bytes"] == (tmp_path / "copy.db").stat().st_size
    assert mnemon("backup", "copy.db").code == 6
    mnemon.ok("backup", "copy.db", "--force")
    mnemon.ok("erase", "--owner", "tester", "--yes")
    assert mnemon("restore-backup", "copy.db").code == 6
    restored = mnemon.json("restore-backup", "copy.db", "--force")
    assert (restored["owners"], restored["erased"]) == (0, 1)
    assert "before-restore" in mnemon.ok("restore-backup", "copy.db", "--force").out
    assert mnemon.json("list")["memories"] == []


def test_damage_has_an_exit_code_of_its_own_and_is_repaired(mnemon: Any, tmp_path: Path) -> None:
    mnemon.ok("remember", "Lives in Oslo", "--store", "m.db")
    assert "Nothing is wrong" in mnemon.ok("verify", "--store", "m.db").out
    assert execute(tmp_path / "m.db", "DELETE FROM terms")
    answer = mnemon("verify", "--store", "m.db")
    assert answer.code == 16
    assert "keywords" in answer.out
    report = mnemon.json("verify", "--repair", "--store", "m.db")
    assert [(each["kind"], each["repaired"]) for each in report["findings"]] == [("terms", True)]
    mnemon.ok("verify", "--store", "m.db")
