"""Two processes of many threads write one store at once: nothing is lost, nothing twice."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memolith import Memolith
from support.durability.store_checks import Tally, check, check_all
from support.durability.workload import SHARED
from support.durability.write_log import Ledger, decode
from support.durability.writing_process import Orders
from support.processes import environment
from support.stores import PLAIN, opened

FACTS = ("I am allergic to peanuts.", "I like tea with milk.")


def written_by(programs: list[Orders]) -> Iterator[bytes]:
    """Let programs write at the same time, and give what they print once all have ended."""
    with ExitStack() as running:
        started = [running.enter_context(_started(orders)) for orders in programs]
        for each in started:
            assert each.stdout is not None
            each.stdout.readline()
        for each in started:
            assert each.stdin is not None
            each.stdin.close()
        for each in started:
            assert each.stdout is not None
            yield from each.stdout.readlines()
    assert [each.returncode for each in started] == [0] * len(started)


def _started(orders: Orders) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *orders.command()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )


def write_at_once(
    store: str, folder: Path, tally: Tally, *, encrypted: bool, threads: int, calls: int
) -> None:
    """Let two processes write, each with so many threads of which each makes so many calls."""
    key = str(folder / "key") if encrypted else PLAIN
    programs = [
        Orders(
            store,
            key,
            seed=process,
            workers=tuple(f"{process}.{n}" for n in range(threads)),
            facts=FACTS,
            calls=calls,
        )
        for process in range(2)
    ]
    ledger = Ledger()
    for line in written_by(programs):
        ledger.take(decode(line))
    with opened(store, key) as memory:
        check(memory, ledger, tally)
        check_all(memory, ledger, tally)
        for fact in FACTS:
            assert_told_once(memory, fact, sessions=2 * threads)


def assert_told_once(memory: Memolith, fact: str, sessions: int) -> None:
    """Check that a fact is one memory, which knows every message that told it."""
    kept = [
        each for each in memory.list(owner=SHARED, limit=1_000).memories if each.content == fact
    ]
    (one,) = kept
    told_in = [memory.message(source.id, owner=SHARED) for source in one.sources]
    assert {message.content for message in told_in} == {fact}
    assert len({message.session_id for message in told_in}) == len(told_in) == sessions


@pytest.mark.parametrize(
    ("store", "encrypted"),
    [("sqlite", True), ("sqlite", False), ("postgresql", False)],
    indirect=["store"],
)
def test_nothing_is_lost_or_doubled_by_two_processes_of_four_threads(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool
) -> None:
    write_at_once(store, tmp_path, tally, encrypted=encrypted, threads=4, calls=5)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
def test_nothing_is_lost_or_doubled_by_two_processes_of_eight_threads(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool
) -> None:
    write_at_once(store, tmp_path, tally, encrypted=encrypted, threads=8, calls=200)
