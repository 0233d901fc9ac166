"""The power is cut during writes: no acknowledged write is lost."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from memolith.adapters.crypto import key_storage
from memolith.adapters.sqlite import connections
from memolith.errors import KeyUnavailable
from support.durability.power_loss import Disk, plugged_in
from support.durability.store_checks import Tally, check, check_all
from support.durability.workload import Worker
from support.durability.write_log import Ledger, Line, everything
from support.stores import PLAIN, opened

STORE, KEY = "memory.db", "key"

CHANGES = (40, 400, 4_000)
"""Maximum numbers of disk changes before a cut: while the store is opened or created; some
calls later; after the write-ahead log has grown enough for a checkpoint."""


def write_until_off(disk: Disk, place: Path, seed: int, ledger: Ledger, *, encrypted: bool) -> None:
    """Write, and sometimes close and reopen the store, until the power is cut."""

    def report(line: Line) -> None:
        if not disk.is_off:
            ledger.take(line)

    chosen = random.Random(seed)  # noqa: S311 - a trial can be run again
    while not disk.is_off:
        with opened(place / STORE, get_key(place, encrypted=encrypted)) as memory:
            worker = Worker(memory, "0", chosen.getrandbits(32), report)
            calls = chosen.randint(1, 100)
            while calls and not disk.is_off:
                worker.step()
                calls -= 1


def cut_repeatedly(folder: Path, tally: Tally, *, encrypted: bool, seed: int, cuts: int) -> None:
    """Cut the power repeatedly; after each cut check a copy and continue from the state on disk.

    The key ring is an SQLite file on the same disk. The key is not: it is written once and
    synced before its first use.
    """
    chosen = random.Random(seed)  # noqa: S311 - the same moments in every run
    ledger = Ledger()
    place = folder / "0"
    for cut in range(1, cuts + 1):
        cut_after = chosen.randint(1, chosen.choice(CHANGES))
        with plugged_in(Disk(chosen.getrandbits(32), cut_after=cut_after)) as disk:
            write_until_off(disk, place, seed * 1_000 + cut, ledger, encrypted=encrypted)
        place = disk.moved(place, folder / str(cut))
        copy = shutil.copytree(place, folder / "copy")
        with opened(copy / STORE, get_key(copy, encrypted=encrypted)) as memory:
            check(memory, ledger, tally)
            if cut == cuts:
                check_all(memory, ledger, tally)
        shutil.rmtree(copy)


def get_key(place: Path, *, encrypted: bool) -> str:
    return str(place / KEY) if encrypted else PLAIN


@pytest.mark.parametrize(("encrypted", "seed"), [(True, 1), (False, 2)], ids=["encrypted", "plain"])
def test_no_acknowledged_write_is_lost_to_a_power_cut(
    tmp_path: Path, tally: Tally, *, encrypted: bool, seed: int
) -> None:
    cut_repeatedly(tmp_path, tally, encrypted=encrypted, seed=seed, cuts=5)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
@pytest.mark.parametrize("seed", range(10, 15))
def test_no_acknowledged_write_is_lost_to_200_power_cuts(
    tmp_path: Path, tally: Tally, *, encrypted: bool, seed: int
) -> None:
    cut_repeatedly(tmp_path, tally, encrypted=encrypted, seed=seed, cuts=20)


def write_before_cut(folder: Path, ledger: Ledger, *, encrypted: bool) -> Path:
    """Write to a new store and cut the power at once; unsynced data is lost."""
    place = folder / "before"
    disk = Disk(1, keeps=False)
    key = get_key(place, encrypted=encrypted)
    with plugged_in(disk), opened(place / STORE, key) as memory:
        worker = Worker(memory, "0", 1, ledger.take)
        for _ in range(5):
            worker.step()
        disk.cut()
    return disk.moved(place, folder / "after")


def weaken_syncing(monkeypatch: pytest.MonkeyPatch, module: ModuleType, level: str) -> None:
    """Reduce the `synchronous` level of connections."""
    pragmas = [re.sub("(synchronous) = .*", rf"\1 = {level}", each) for each in module._PRAGMAS]
    assert tuple(pragmas) != module._PRAGMAS
    monkeypatch.setattr(module, "_PRAGMAS", tuple(pragmas))


@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
def test_power_cut_right_after_the_first_writes_loses_none(
    tmp_path: Path, *, encrypted: bool
) -> None:
    ledger = Ledger()
    place = write_before_cut(tmp_path, ledger, encrypted=encrypted)
    with opened(place / STORE, get_key(place, encrypted=encrypted)) as memory:
        check(memory, ledger, Tally())
    assert ledger.acknowledged == 5


@pytest.mark.parametrize("level", ["NORMAL", "OFF"])
def test_store_with_weaker_syncing_loses_acknowledged_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    """Shows that the tests above can fail: the disk does lose unsynced data."""
    weaken_syncing(monkeypatch, connections, level)
    ledger = Ledger()
    place = write_before_cut(tmp_path, ledger, encrypted=False)
    with opened(place / STORE, PLAIN) as memory:
        assert everything(memory) == {}
        assert ledger.settle({}).lost


def test_key_ring_with_weaker_syncing_loses_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk loses unsynced directory entries too: here the deletion of a rollback journal."""
    weaken_syncing(monkeypatch, key_storage, "FULL")
    place = write_before_cut(tmp_path, Ledger(), encrypted=True)
    key = get_key(place, encrypted=True)
    with opened(place / STORE, key) as memory, pytest.raises(KeyUnavailable):
        everything(memory)
