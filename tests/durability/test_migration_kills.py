"""A killed migration leaves the old or the new schema, and the next run completes it."""

from __future__ import annotations

import random
import shutil
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from memolith import Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.schema import MIGRATIONS
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.processes import killed

MEMORIES = 40
ROWS = 150_000

NEXT = """
CREATE TABLE added (n INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT;
INSERT INTO added
  WITH RECURSIVE counting (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counting WHERE n < 150000)
  SELECT n, hex(n) FROM counting;
ALTER TABLE events ADD COLUMN added INTEGER;
UPDATE events SET added = number;
"""
"""Takes about a third of a second, most of it writing."""

PROGRAM = """
import sys, time
from pathlib import Path
from durability.test_migration_kills import migrate
print("begun", flush=True)
migrate(Path(sys.argv[1]))
time.sleep(60)
"""


def migrate(store: Path) -> None:
    """Migrate a store to a schema version made up for this test."""
    from memolith.adapters.sqlite.opening import prepare

    prepare(
        store,
        ciphers=PlainCipher(),
        analyser=1,
        busy_timeout_s=5,
        migrations=(*MIGRATIONS, NEXT),
    )


def open_store(store: Path) -> Memolith:
    return Memolith.open(
        store, embedder=HashingEmbedder(), tokens=WordCounter(), cipher=PlainCipher()
    )


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("migrations") / "memory.db"
    with open_store(store) as memory:
        for number in range(MEMORIES):
            memory.remember(f"Note number {number}", owner="a")
    return store


def get_schema_version(store: Path) -> int:
    with closing(apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        return int(connection.pragma("user_version"))


def check_killed(template: Path, folder: Path, after_s: float) -> int:
    """Kill a migration and check that nothing is lost; return the schema version after the kill."""
    store = folder / "memory.db"
    shutil.copy(template, store)
    killed(["-c", PROGRAM, str(store)], after_s)
    left = get_schema_version(store)
    if left == len(MIGRATIONS):
        with open_store(store) as memory:
            assert memory.active_count(owner="a") == MEMORIES
            assert memory.verify().findings == ()
    migrate(store)
    with closing(apsw.Connection(str(store))) as connection:
        assert connection.execute("SELECT count(*) FROM added").get == ROWS
        assert connection.execute("SELECT count(*) FROM memories").get == MEMORIES
        assert connection.execute("SELECT count(*) FROM events WHERE added IS NULL").get == 0
        assert connection.pragma("integrity_check") == "ok"
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            file.unlink()
    return left


@pytest.mark.parametrize("after_s", [0.0, 0.08, 0.25])
def test_killed_migration_is_completed_by_the_next(
    template: Path, tmp_path: Path, after_s: float
) -> None:
    check_killed(template, tmp_path, after_s)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_50_killed_migrations_are_completed_by_the_next(template: Path, tmp_path: Path) -> None:
    chance = random.Random(50)  # noqa: S311 - times of kills, not a secret
    left = [check_killed(template, tmp_path, chance.uniform(0.0, 0.5)) for _ in range(50)]
    assert {len(MIGRATIONS), len(MIGRATIONS) + 1} >= set(left)
