"""Scrubbing erases deleted content from the unused parts of SQLite pages."""

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

CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.db"


@pytest.fixture
def deleted_words(path: Path) -> Iterator[list[str]]:
    """The deleted words of a file: two thirds of words that were stored in random order."""
    words = Words(1)
    words.text(3_000)
    random.Random(2).shuffle(words.all)  # noqa: S311 - the same in every run
    with closing(Connection(path, 5.0)) as connection:
        connection.run("PRAGMA journal_mode = WAL")
        connection.run("PRAGMA synchronous = OFF")  # it commits thousands of times
        connection.run("CREATE TABLE words (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
        connection.run_many("INSERT OR IGNORE INTO words VALUES (?)", [(w,) for w in words.all])
        connection.run_many("DELETE FROM words WHERE word = ?", [(w,) for w in words.all[1_000:]])
        connection.row(CHECKPOINT)
        yield sorted(set(words.all[1_000:]) - set(words.all[:1_000]))


def test_deletion_without_scrubbing_leaves_copies_in_the_file(
    path: Path, deleted_words: list[str]
) -> None:
    assert found_in(path.read_bytes(), deleted_words)


def test_scrubbing_erases_deleted_rows_only(path: Path, deleted_words: list[str]) -> None:
    with closing(Connection(path, 5.0)) as connection:
        before = connection.rows("SELECT word FROM words")
        assert scrub(path, 5.0)
        assert connection.rows("SELECT word FROM words") == before
        assert connection.rows("PRAGMA integrity_check") == [("ok",)]
        connection.row(CHECKPOINT)
    assert len(before) == 1_000
    assert not found_in(path.read_bytes(), deleted_words)


def test_connection_with_cached_pages_does_not_restore_deleted_words(
    path: Path, deleted_words: list[str]
) -> None:
    with closing(Connection(path, 5.0)) as other:
        other.rows("SELECT word FROM words")  # caches all pages
        assert scrub(path, 5.0)
        other.run("UPDATE words SET word = word || 'x'")
        other.row(CHECKPOINT)
        assert other.rows("PRAGMA integrity_check") == [("ok",)]
    assert not found_in(path.read_bytes(), deleted_words)


def test_scrubbing_is_skipped_while_the_wal_is_in_use(path: Path, deleted_words: list[str]) -> None:
    del deleted_words
    with closing(Connection(path, 5.0)) as other:
        other.run("DELETE FROM words WHERE word < 'd'")
        before = path.read_bytes()
        assert not scrub(path, 5.0)
        assert path.read_bytes() == before
        other.row(CHECKPOINT)
        other.begin_writing(5.0)
        assert not scrub(path, 0.0)
        other.roll_back()
        assert scrub(path, 5.0)


def test_scrubbing_keeps_locks_of_the_process(path: Path, deleted_words: list[str]) -> None:
    del deleted_words
    with closing(Connection(path, 5.0)) as other:
        other.rows("SELECT word FROM words")
        assert scrub(path, 5.0)
        locks = Path("/proc/locks")
        if not locks.exists():
            pytest.skip("this system does not list locks")
        inode = f":{path.stat().st_ino} "
        assert inode in locks.read_text()


def test_purged_words_are_absent_from_the_store_file(tmp_path: Path) -> None:
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
