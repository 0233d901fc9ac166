"""Stores that older versions wrote, kept as SQL text, are brought up to date with all they hold."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from memolith import Memolith
from memolith.adapters.crypto.plain import PlainCipher
from memolith.adapters.sqlite.schema import MIGRATIONS
from memolith.domain.work import Mark, Progress, Work
from migrations.saving import NOW, dumped, furnish, load, opened

SAVED = {
    version: Path(__file__).with_name(f"schema_{version}.sql")
    for version in range(1, len(MIGRATIONS))
}


@pytest.fixture(params=SAVED)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    store = tmp_path / "memory.db"
    load(SAVED[request.param].read_text("utf-8"), store)
    return store


def schema_of(store: Path) -> set[tuple[str, ...]]:
    """Return what a file's tables, indexes and triggers are, whatever the order of columns."""
    with closing(apsw.Connection(str(store))) as file:
        return {
            (*row,)
            for row in file.execute(
                'SELECT t.name, t.type, t.strict, t.wr, c.name, c.type, c."notnull", c.dflt_value,'
                " c.pk FROM pragma_table_list AS t, pragma_table_info(t.name) AS c"
                " UNION ALL SELECT name, type, sql, 0, 0, 0, 0, 0, 0 FROM sqlite_schema"
                " WHERE type IN ('index', 'trigger')"
            )
        }


def test_every_older_schema_is_saved() -> None:
    assert [version for version, path in SAVED.items() if not path.exists()] == []


def test_a_saved_store_gets_the_tables_of_a_new_one(saved: Path, tmp_path: Path) -> None:
    with opened(saved), opened(tmp_path / "new.db"):
        pass
    assert schema_of(saved) == schema_of(tmp_path / "new.db")


def test_a_saved_store_holds_what_it_held(saved: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "new.db") as new:
        furnish(new)
        expected = {owner: new.stats(owner=owner) for owner in ("anna", "bob")}
    with opened(saved) as memory:
        assert memory.verify().findings == ()
        assert memory.owners() == ["anna", "bob"]
        for owner, stats in expected.items():
            assert memory.stats(owner=owner) == stats
        found = memory.recall("the gate's code", owner="anna").memories[0]
        assert found.content == "The gate's code is 4712"
        assert [one.content for one in memory.base_memory_versions(owner="anna")][-1:] == [
            "Anna lives in Oslo with a cat."
        ]
        assert memory._parts.store.is_erased("carol")


def test_what_a_saved_store_holds_waits_for_nothing_and_can_be_let_wait(saved: Path) -> None:
    with opened(saved) as memory:
        store = memory._parts.store
        assert store.claims.owners(Work.LEARN, now=NOW) == []
        assert store.claims.owners(Work.CONSOLIDATE, now=NOW) == ["anna", "bob"]
        with store.write("anna") as tx:
            assert tx.awaiting(9, now=NOW) == []
            assert tx.unsummarised() == tx.messages()
            assert tx.progress("s1") == Progress()
            ids = [one.id for one in tx.messages()]
            tx.await_learning(ids)
            tx.postpone(ids[:1], retry_at=NOW + timedelta(seconds=9))
            tx.mark(
                [one.id for one in tx.unmarked(Mark.INCORPORATED, frozenset({"fact"}))], Mark(1)
            )
            assert len(tx.awaiting(9, now=NOW)) == len(ids) - 1
        assert memory.verify().findings == ()


def test_a_backup_of_an_older_version_is_restored(saved: Path, tmp_path: Path) -> None:
    target = tmp_path / "restored" / "memory.db"
    done = Memolith.restore_backup(saved, target, cipher=PlainCipher())
    assert done.owners == 2
    assert [file.name for file in target.parent.iterdir()] == ["memory.db"]
    with opened(target) as memory:
        assert memory.verify().findings == ()
        assert memory.recall("the gate's code", owner="anna").memories


def test_a_store_written_out_and_made_again_is_the_same(tmp_path: Path) -> None:
    with opened(tmp_path / "one.db") as memory:
        furnish(memory)
    text = "\n".join(dumped(tmp_path / "one.db"))
    load(text, tmp_path / "two.db")
    assert "\n".join(dumped(tmp_path / "two.db")) == text
