"""Two processes with many threads write to one store: no write is lost or duplicated."""

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


def run_programs(programs: list[Orders]) -> Iterator[bytes]:
    """Run programs at the same time; yield their output lines once all have ended."""
    with ExitStack() as running:
        started = [running.enter_context(_start(orders)) for orders in programs]
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


def _start(orders: Orders) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *orders.command()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )


def write_in_parallel(
    store: str, folder: Path, tally: Tally, *, encrypted: bool, threads: int, calls: int
) -> None:
    """Run two writing processes with `threads` threads each and `calls` calls per thread."""
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
    for line in run_programs(programs):
        ledger.take(decode(line))
    with opened(store, key) as memory:
        check(memory, ledger, tally)
        check_all(memory, ledger, tally)
        for fact in FACTS:
            assert_stored_once(memory, fact, sessions=2 * threads)


def assert_stored_once(memory: Memolith, fact: str, sessions: int) -> None:
    """Check that a fact is one memory with every message that stated it as a source."""
    kept = [
        each for each in memory.list(owner=SHARED, limit=1_000).memories if each.content == fact
    ]
    (one,) = kept
    messages = [memory.message(source.id, owner=SHARED) for source in one.sources]
    assert {message.content for message in messages} == {fact}
    assert len({message.session_id for message in messages}) == len(messages) == sessions


@pytest.mark.parametrize(
    ("store", "encrypted"),
    [("sqlite", True), ("sqlite", False), ("postgresql", False)],
    indirect=["store"],
)
def test_two_processes_of_four_threads_lose_or_duplicate_nothing(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool
) -> None:
    write_in_parallel(store, tmp_path, tally, encrypted=encrypted, threads=4, calls=5)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("encrypted", [True, False], ids=["encrypted", "plain"])
def test_two_processes_of_eight_threads_lose_or_duplicate_nothing(
    store: str, tmp_path: Path, tally: Tally, *, encrypted: bool
) -> None:
    write_in_parallel(store, tmp_path, tally, encrypted=encrypted, threads=8, calls=200)
