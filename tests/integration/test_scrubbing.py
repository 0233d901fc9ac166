"""What SQLite leaves behind in the unused parts of its pages goes too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.connections import Connection
from memolith.adapters.sqlite.scrubbing import scrub
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.plaintext_search import found_in
from support.random_words import Words

pytestmark = pytest.mark.sqlite

CLEARED = "PRAGMA wal_checkpoint(TRUNCATE)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.db"


@pytest.fixture
def gone(path: Path) -> Iterator[list[str]]:
    """A file in which words in random order were stored, and two thirds of them deleted."""
    words = Words(1)
    words.text(3_000)
    random.Random(2).shuffle(words.all)  # noqa: S311 - the same in every run
    with closing(Connection(path, 5.0)) as connection:
        connection.run("PRAGMA journal_mode = WAL")
        connection.run("PRAGMA synchronous = OFF")  # it commits thousands of times
        connection.run("CREATE TABLE words (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        connection.run_many("INSERT OR IGNORE INTO words VALUES (?)", [(w,) for w in words.all])
        connection.run_many("DELETE FROM words WHERE word = ?", [(w,) for w in words.all[1_000:]])
        connection.row(CLEARED)
        yield sorted(set(words.all[1_000:]) - set(words.all[:1_000]))


def test_deleting_alone_leaves_copies_in_the_file(path: Path, gone: list[str]) -> None:
    assert found_in(path.read_bytes(), gone)


def test_scrubbing_leaves_none_and_keeps_the_rest(path: Path, gone: list[str]) -> None:
    with closing(Connection(path, 5.0)) as connection:
        before = connection.rows("SELECT word FROM words")
        assert scrub(path, 5.0)
        assert connection.rows("SELECT word FROM words") == before
        assert connection.rows("PRAGMA integrity_check") == [("ok",)]
        connection.row(CLEARED)
    assert len(before) == 1_000
    assert not found_in(path.read_bytes(), gone)


def test_a_connection_that_knew_the_pages_brings_nothing_back(path: Path, gone: list[str]) -> None:
    with closing(Connection(path, 5.0)) as other:
        other.rows("SELECT word FROM words")  # has all pages in memory now
        assert scrub(path, 5.0)
        other.run("UPDATE words SET word = word || 'x'")
        other.row(CLEARED)
        assert other.rows("PRAGMA integrity_check") == [("ok",)]
    assert not found_in(path.read_bytes(), gone)


def test_nothing_is_touched_while_the_log_is_in_use(path: Path, gone: list[str]) -> None:
    del gone
    with closing(Connection(path, 5.0)) as other:
        other.run("DELETE FROM words WHERE word < 'd'")
        before = path.read_bytes()
        assert not scrub(path, 5.0)
        assert path.read_bytes() == before
        other.row(CLEARED)
        other.begin_writing(5.0)
        assert not scrub(path, 0.0)
        other.roll_back()
        assert scrub(path, 5.0)


def test_locks_of_this_process_outlive_a_scrubbing(path: Path, gone: list[str]) -> None:
    del gone
    with closing(Connection(path, 5.0)) as other:
        other.rows("SELECT word FROM words")
        assert scrub(path, 5.0)
        locks = Path("/proc/locks")
        if not locks.exists():
            pytest.skip("this system does not list locks")
        inode = f":{path.stat().st_ino} "
        assert inode in locks.read_text()


def test_no_word_of_many_purged_memories_is_left(tmp_path: Path) -> None:
    words, kept = Words(3), Words(4)
    with Memolith.open(
        tmp_path / "memory.db",
        embedder=HashingEmbedder(),
        tokens=WordCounter(),
        cipher=PlainCipher(),
    ) as memory:
        alice = memory.owner("alice")
        stored = [
            alice.remember((words if n % 10 == 0 else kept).text(12), tags=[f"tag{n % 7}"])
            for n in range(300)
        ]
        for one in stored[::10]:
            assert alice.purge(one.id).compacted
        assert not found_in((tmp_path / "memory.db").read_bytes(), words.all)
        for _ in range(20):
            alice.remember(kept.text(12))
        assert memory.verify().is_clean
    assert not found_in((tmp_path / "memory.db").read_bytes(), words.all)
