"""Concurrent writers of one owner, in every profile: no duplicates and no lost facts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.domain.memories import State
from memolith.errors import Conflict
from memolith.testing.fakes import HashingEmbedder, WordCounter

FACT = "Keeps the spare key under the third flower pot from the left"
PROFILES = ("standard", "companion", "facts", "chunks", "tiers", "timeline")

PROGRAM = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from memolith import Memolith
from memolith.testing.fakes import HashingEmbedder, WordCounter

store, profile, process, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
with Memolith.open(
    store, profile=profile, embedder=HashingEmbedder(), tokens=WordCounter()
) as memory:
    owner = memory.owner("a")

    def remember(thread):
        owner.remember({FACT!r}, key="key" if profile == "timeline" else None)
        word = f"{{process}}x{{thread}}"
        owner.remember(
            " ".join(f"{{word}}{{letter}}" for letter in "abcdefgh"),
            key=word if profile == "timeline" else None,
        )

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(remember, range(threads)))
"""


def open_store(store: Path | str, profile: str = "standard") -> Memolith:
    return Memolith.open(store, profile=profile, embedder=HashingEmbedder(), tokens=WordCounter())


def write_concurrently(store: Path, profile: str, processes: int, threads: int) -> None:
    with open_store(store, profile):  # the store exists before the writers start
        pass
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(store), profile, f"p{number}", str(threads)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for process in running:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors


def assert_no_duplicate_or_loss(store: Path, profile: str, processes: int, threads: int) -> None:
    with open_store(store, profile) as memory:
        active = memory.list(owner="a", limit=1_000).memories
        assert [each.content for each in active].count(FACT) == 1
        assert len(active) == 1 + processes * threads
        assert memory.verify().is_clean


@pytest.mark.parametrize("profile", PROFILES)
def test_concurrent_writers_store_same_fact_once(tmp_path: Path, profile: str) -> None:
    write_concurrently(tmp_path / "m.db", profile, 2, 4)
    assert_no_duplicate_or_loss(tmp_path / "m.db", profile, 2, 4)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("profile", PROFILES)
def test_64_concurrent_writers_store_same_fact_once(tmp_path: Path, profile: str) -> None:
    write_concurrently(tmp_path / "m.db", profile, 4, 16)
    assert_no_duplicate_or_loss(tmp_path / "m.db", profile, 4, 16)


def test_concurrent_supersessions_create_no_cycle() -> None:
    with open_store(":memory:") as memory:
        owner = memory.owner("a")
        ids = [owner.remember(f"Fact of number {number}").id for number in range(4)]
        pairs = [(old, new) for old in ids for new in ids] * 3

        def supersede(pair: tuple[str, str]) -> Callable[[], None] | None:
            try:
                owner.supersede(*pair)
            except Conflict:
                return None
            return None

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(supersede, pairs))
        found = {each.id: each for each in owner.list(state="all", limit=100).memories}
        for memory_ in found.values():
            seen: set[str] = set()
            step = memory_
            while step.superseded_by is not None:
                assert step.id not in seen
                seen.add(step.id)
                step = found[step.superseded_by]
            assert step.state is State.ACTIVE
