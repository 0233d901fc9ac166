"""A writing process is killed with SIGKILL: no acknowledged write is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.durability.store_checks import Tally, check, check_all
from support.durability.write_log import Ledger, decode
from support.durability.writing_process import Orders
from support.processes import killed
from support.stores import PLAIN, opened

_OPENING_S = 0.3
"""Usual time until a writer has opened the store and made its first call."""

_MOST_LINES = 200
"""Maximum output of a writer before its kill: a hundred calls with two lines each."""


def kill_repeatedly(
    store: str, folder: Path, tally: Tally, *, encrypted: bool, seed: int, kills: int
) -> None:
    """Kill one writer after another on one store, and check the store after each kill.

    For odd seeds this process keeps the store open meanwhile, so that a surviving process has to
    handle the shared memory of the write-ahead log as the killed writer left it.
    """
    chosen = random.Random(seed)  # noqa: S311 - the same moments in every run
    key = str(folder / "key") if encrypted else PLAIN
    ledger = Ledger()
    stays_open = opened(store, key) if seed % 2 else None
    for kill in range(kills):
        workers = chosen.choice((("0",), ("0",), ("0", "1", "2")))
        orders = Orders(store, key, seed * 1_000 + kill, workers)
        after_s, after_lines = choose_moment(chosen)
        for line in killed(orders.command(), after_s, after_lines=after_lines)[1:]:
            ledger.take(decode(line))
        memory = stays_open or opened(store, key)
        check(memory, ledger, tally)
        if memory is not stays_open:
            memory.close()
    with stays_open or opened(store, key) as memory:
        check_all(memory, ledger, tally)


def choose_moment(chosen: random.Random) -> tuple[float, int]:
    """Choose the time of a kill: seconds after a number of lines; the first line is "starting"."""
    if chosen.random() < 0.3:
        return chosen.uniform(0, _OPENING_S), 1
    return chosen.uniform(0, 0.01), chosen.randint(2, _MOST_LINES)


@pytest.mark.parametrize(
    ("store", "encrypted", "seed", "kills"),
    [("sqlite", True, 1, 3), ("sqlite", False, 2, 2), ("postgresql", True, 3, 2)],
    indirect=["store"],
)
def test_no_acknowledged_write_is_lost_to_a_kill(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool, seed: int, kills: int
) -> None:
    kill_repeatedly(store, tmp_path, tally, encrypted=encrypted, seed=seed, kills=kills)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
@pytest.mark.parametrize("seed", range(10, 20))
def test_no_acknowledged_write_is_lost_to_500_kills(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool, seed: int
) -> None:
    kill_repeatedly(store, tmp_path, tally, encrypted=encrypted, seed=seed, kills=25)
