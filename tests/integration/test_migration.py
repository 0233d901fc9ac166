"""Migration between SQLite and PostgreSQL: complete, resumable, safe under writes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import apsw
import psycopg
import pytest
from psycopg import sql

from memolith import AsyncMemolith, Memolith
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.schema import SHARED_TABLES
from memolith.adapters.sql import tables
from memolith.adapters.sql.tables import OWNER_FACTS, OWNERS, TABLES
from memolith.errors import Conflict, InvalidInput, KeyUnavailable, NotFound, StoreUnavailable
from memolith.services.migrate import MigrationResult
from memolith.stores import reset_store
from memolith.testing.fakes import SettableClock
from support.store_migration import Places, fill, places
from unit.cli.conftest import Program, WithoutModel

DATABASE_SPECIFIC_TABLES = {"meta", "probe", "vectors_sent", "vectors_due", "sqlite_sequence"}
"""Tables that describe one database, or are derived from the other tables."""


@pytest.fixture
def at(tmp_path: Path, postgres_url: str, clock: SettableClock) -> Iterator[Places]:
    with places(tmp_path, postgres_url, clock) as made:
        yield made


@pytest.fixture
def plain(tmp_path: Path, postgres_url: str, clock: SettableClock) -> Iterator[Places]:
    with places(tmp_path, postgres_url, clock, encrypted=False) as made:
        yield made


def fill_owners(at: Places) -> Places:
    """Store records for three owners."""
    with at.opened("file") as memory:
        for owner in ("alice", "bob", "carol"):
            memory.learn(f"I live in {owner}ville. It rains.", "I see.", owner=owner)
            memory.remember(f"The gnome of {owner} is called Zyxglorp", owner=owner, key="gnome")
    return at


class MoveStopped(Exception):
    """Stands for a killed process."""


def call_after(rows: int, function: Callable[[], object]) -> Callable[[int], None]:
    """Return a progress callback that calls a function once, after a number of rows."""
    left = [rows]

    def advance(steps: int) -> None:
        was, left[0] = left[0], left[0] - steps
        if left[0] <= 0 < was:
            function()

    return advance


def stop() -> None:
    raise MoveStopped


def move(
    at: Places, advance: Callable[[int], None], source: str = "file", to: str = "server"
) -> MigrationResult:
    return Memolith.migrate(
        at.urls[to], at.urls[source], config=at.config, cipher=at.ciphers, on_progress=advance
    )


# --- completeness ---------------------------------------------------------------------------------


def test_migration_copies_every_table_and_column(at: Places, postgres_url: str) -> None:
    for name in ("file", "server"):
        at.opened(name).close()
    known = {OWNERS: {"owner_id", "name", *OWNER_FACTS}}
    for table in TABLES.values():
        known[table.name] = {each.strip('"') for each in table.columns}
        known[table.name] |= {"owner_id"} if table.is_owned else set()
    with closing(apsw.Connection(at.urls["file"])) as connection:
        in_file = connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type = 'table'"
        ).fetchall()
    with psycopg.connect(postgres_url) as asked:
        on_server = asked.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE table_schema = %s",
            (at.config.settings.postgres.schema,),
        ).fetchall()
    for columns in (in_file, on_server):
        found: dict[str, set[str]] = {}
        for table_name, column in columns:
            found.setdefault(str(table_name), set()).add(str(column))
        assert {n: c for n, c in found.items() if n not in DATABASE_SPECIFIC_TABLES} == known
    assert set(SHARED_TABLES) - DATABASE_SPECIFIC_TABLES == {
        t.name for t in TABLES.values() if not t.is_owned
    }


def test_store_with_history_survives_round_trip(at: Places) -> None:
    fill(at)
    answers = at.answers("file")
    with at.opened("file") as memory:
        findings = memory.verify().findings
        owners = len(memory.owners())
    rows = at.rows("file")
    assert {table for _, table in rows} == {OWNERS, *TABLES}
    for source, to in (("file", "server"), ("server", "back")):
        done = at.move(source, to)
        assert (done.is_finished, done.copied) == (True, owners)
        assert at.rows(to) == rows
        assert at.answers(to) == answers
        with at.opened(to) as memory:
            assert memory.verify().findings == findings


def test_plain_store_survives_round_trip(plain: Places) -> None:
    rows = fill_owners(plain).rows("file")
    for source, to in (("file", "server"), ("server", "back")):
        assert plain.move(source, to).is_finished
        assert plain.rows(to) == rows
    assert not plain.move("file", "server").copied
    assert plain.move("file", "server", verify=True).is_same


@pytest.mark.parametrize("rows_at_once", [1, 3])
def test_page_size_does_not_change_copied_rows(
    plain: Places, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    rows = fill_owners(plain).rows("file")
    monkeypatch.setattr(tables, "_ROWS_PER_PAGE", rows_at_once)
    for source, to in (("file", "server"), ("server", "back")):
        assert plain.rows(source) == rows
        assert plain.move(source, to).is_finished
    monkeypatch.undo()
    assert plain.rows("back") == rows


def test_rows_written_to_copy_can_be_migrated_back(
    at: Places,
) -> None:
    fill_owners(at).move("file", "server")
    with at.opened("server") as memory:
        memory.remember("The tower is blue", owner="alice")
        memory.remember("Somebody new", owner="dora")
    at.move("server", "back")
    with at.opened("back") as memory:
        assert memory.recall("tower", owner="alice").memories[0].record.content.endswith("blue")
        assert memory.recall("new", owner="dora").memories


# --- interruption ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "to"), [("file", "server"), ("server", "back")])
def test_interrupted_migration_is_not_openable_and_resumes(
    at: Places, source: str, to: str
) -> None:
    rows = fill_owners(at).rows("file")
    if source == "server":
        at.move("file", "server")
    one = sum(len(found) for (owner, _), found in rows.items() if owner == "alice")
    whole = []
    for moment in (1, one // 2, one * 3 // 2, one // 2, one * 3 // 2):
        with pytest.raises(MoveStopped):
            move(at, call_after(moment, stop), source, to)
        with pytest.raises(StoreUnavailable, match="memolith migrate"):
            at.opened(to)
        there = at.rows(to)
        assert {key: rows[key] for key in there} == there
        whole.append(sorted({owner for owner, _ in there if owner}))
    assert whole == [[], [], ["alice"], ["alice"], ["alice", "bob"]]
    done = at.move(source, to)
    assert (done.copied, done.is_finished) == (1, True)
    assert at.rows(to) == rows


@pytest.mark.parametrize("to", ["server", "back"])
def test_incomplete_copy_can_be_deleted_and_restarted(at: Places, to: str) -> None:
    fill_owners(at)
    with pytest.raises(MoveStopped):
        move(at, call_after(60, stop), to=to)
    assert reset_store(replace(at.config.settings, store=at.urls[to]))
    assert at.move("file", to).is_finished
    assert at.rows(to) == at.rows("file")
    at.opened(to).close()


KILLED_PROGRAM = """
import os, signal, sys
from memolith import Memolith
from memolith.config import load
left = int(sys.argv[4])
def advance(rows):
    global left
    left -= rows
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
Memolith.migrate(
    sys.argv[2], sys.argv[1], config=load(None, {}, {"postgres.schema": sys.argv[3]}),
    on_progress=advance,
)
"""


def run_until_killed(at: Places, source: str, to: str, moment: int) -> int:
    schema = at.config.settings.postgres.schema
    arguments = [at.urls[source], at.urls[to], schema, str(moment)]
    return subprocess.run(
        [sys.executable, "-c", KILLED_PROGRAM, *arguments], check=False, env=os.environ
    ).returncode


@pytest.mark.parametrize(("source", "to"), [("file", "server"), ("server", "back")])
def test_killed_migration_resumes(at: Places, source: str, to: str) -> None:
    rows = fill_owners(at).rows("file")
    if source == "server":
        at.move("file", "server")
    assert run_until_killed(at, source, to, 90) == -signal.SIGKILL
    assert at.move(source, to).is_finished
    assert at.rows(to) == rows


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "to"), [("file", "server"), ("server", "back")])
def test_migration_killed_at_any_moment_resumes(at: Places, source: str, to: str) -> None:
    fill(at)
    rows = at.rows("file")
    if source == "server":
        at.move("file", "server")
    for moment in count(1, 149):
        if run_until_killed(at, source, to, moment) == 0:
            break
        there = at.rows(to)
        assert {key: rows[key] for key in there} == there
    assert moment > 149 * 8
    assert at.rows(to) == rows


# --- concurrent writes ---------------------------------------------------------------------------


def test_second_run_copies_changes_made_since_first(at: Places) -> None:
    fill_owners(at).move("file", "server")
    with at.opened("file") as memory:
        memory.purge(key="gnome", owner="alice")
        memory.rotate_key("alice")
        memory.erase("bob")
        memory.remember("A newcomer", owner="dora")
    done = at.move("file", "server")
    assert (done.copied, done.removed, done.is_finished) == (2, 1, True)
    assert at.rows("server") == at.rows("file")
    with at.opened("server") as memory:
        assert memory.owners() == ["alice", "carol", "dora"]
        assert [each.content for each in memory.list(owner="alice").memories]
        store = memory._app.store
        cipher = store.cipher  # type: ignore[attr-defined]
        assert cipher.key_versions("alice") == [2]
        assert cipher.key_versions("bob") == []
        assert store.is_erased("bob")


def test_readmitted_owner_has_no_old_records_after_migration(plain: Places) -> None:
    fill_owners(plain).move("file", "server")
    before = plain.rows("server")[("alice", "memories")]
    with plain.opened("file") as memory:
        memory.erase("alice")
        memory.readmit("alice")
        # As many writes as before: the owner's state looks the same.
        memory.learn("I live in Otherville. It snows.", "I see.", owner="alice")
        memory.remember("The gnome of nobody is called Zyxglorp", owner="alice", key="gnome")
    assert plain.move("file", "server").is_finished
    assert plain.rows("server") == plain.rows("file")
    assert plain.rows("server")[("alice", "memories")] != before


@pytest.mark.parametrize("moment", [1, 70, 200, 260])
def test_writes_during_migration_are_copied(at: Places, moment: int) -> None:
    def write() -> None:
        with at.opened("file") as memory:
            memory.purge(key="gnome", owner="alice")
            memory.rotate_key("carol")
            memory.erase("bob")
            memory.remember("A newcomer", owner="dora")

    fill_owners(at)
    assert move(at, call_after(moment, write)).is_finished
    assert at.rows("server") == at.rows("file")
    with at.opened("server") as memory:
        assert memory.recall("gnome", owner="carol").memories


def test_migration_under_constant_writes_stays_unfinished(plain: Places) -> None:
    fill_owners(plain)
    numbers = count()
    with plain.opened("file") as memory:

        def write(_: int) -> None:
            memory.remember(f"Number {next(numbers)}", owner="alice")

        done = move(plain, write)
    assert not done.is_finished
    assert {each.owner_id for each in done.compared if not each.is_same} == {"alice"}
    with pytest.raises(StoreUnavailable):
        plain.opened("server")
    assert plain.move("file", "server").is_finished


# --- comparison -----------------------------------------------------------------------------------


def test_changed_row_in_target_is_detected_and_repaired(at: Places, postgres_url: str) -> None:
    rows = fill_owners(at).rows("file")
    at.move("file", "server")
    schema = sql.Identifier(at.config.settings.postgres.schema)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("UPDATE {}.items SET words = words + 1 WHERE item = 1").format(schema)
        )
        connection.execute(sql.SQL("DELETE FROM {}.terms WHERE item = 2").format(schema))
    found = at.move("file", "server", verify=True)
    assert not found.is_same
    differing = {each.owner_id: each.differing for each in found.compared if not each.is_same}
    assert differing == dict.fromkeys(("alice", "bob", "carol"), ("items", "terms"))
    assert at.rows("server") != rows
    assert at.move("file", "server").is_finished
    assert at.rows("server") == rows


# --- rejection ------------------------------------------------------------------------------------


def test_nonempty_target_is_rejected_unchanged(plain: Places, tmp_path: Path) -> None:
    fill_owners(plain)
    with plain.opened("back") as memory:
        memory.remember("Mine", owner="eve")
    with plain.opened("server") as memory:
        memory.remember("Mine too", owner="eve")
    rows = plain.rows("back"), plain.rows("server")
    for to in ("back", "server"):
        with pytest.raises(Conflict, match="already holds a store"):
            plain.move("file", to)
    with pytest.raises(Conflict, match="same store"):
        plain.move("file", "file")
    (tmp_path / "linked.db").symlink_to(plain.urls["file"])
    with pytest.raises(Conflict):
        Memolith.migrate(tmp_path / "linked.db", plain.urls["file"], cipher=plain.ciphers)
    assert (plain.rows("back"), plain.rows("server")) == rows


def test_foreign_or_modified_copy_is_rejected_unchanged(plain: Places) -> None:
    fill_owners(plain).move("file", "server")
    with plain.opened("back") as memory:
        memory.remember("Mine", owner="eve")
    with pytest.raises(Conflict, match="copy of another store"):
        plain.move("back", "server")
    with plain.opened("server") as memory:
        memory.remember("New here", owner="alice")
    rows = plain.rows("server")
    with pytest.raises(Conflict, match="written to after"):
        plain.move("file", "server")
    assert plain.rows("server") == rows


def test_missing_and_in_memory_stores_are_rejected(plain: Places, tmp_path: Path) -> None:
    for source, to in ((tmp_path / "no.db", plain.urls["back"]), (plain.urls["server"], "no.db")):
        with pytest.raises(NotFound):
            Memolith.migrate(to, source, config=plain.config, cipher=plain.ciphers)
    file = fill_owners(plain).urls["file"]
    for source, to in ((":memory:", plain.urls["back"]), (file, ":memory:")):
        with pytest.raises(InvalidInput, match="memory"):
            Memolith.migrate(to, source, config=plain.config, cipher=plain.ciphers)
    with pytest.raises(NotFound):
        plain.move("file", "server", verify=True)
    assert not (tmp_path / "no.db").exists()
    assert not Path(plain.urls["back"]).exists()
    with pytest.raises(NotFound):
        plain.move("server", "back")


# --- keys -----------------------------------------------------------------------------------------


def test_empty_target_is_accepted_with_keys_of_source(at: Places) -> None:
    rows = fill_owners(at).rows("file")
    for to in ("server", "back"):
        at.opened(to).close()
        assert at.move("file", to).is_finished
        assert at.rows(to) == rows
        with at.opened(to) as memory:
            assert memory.recall("gnome", owner="alice").memories


def test_empty_target_with_other_cipher_is_rejected(at: Places) -> None:
    fill_owners(at)
    Memolith.open(at.urls["back"], config=at.config, cipher=PlainCipher()).close()
    with pytest.raises(Conflict, match="cipher"):
        at.move("file", "back")


def test_each_store_works_without_keys_of_the_other(at: Places) -> None:
    fill_owners(at).move("file", "server")
    at.move("server", "back")
    with at.opened("server") as memory:
        memory.erase("alice")
    with at.opened("file") as memory:
        assert memory.recall("gnome", owner="alice").memories
        memory._app.store.cipher.delete_store_keys()  # type: ignore[attr-defined]
    with pytest.raises(KeyUnavailable):
        at.opened("file")
    for name, owner in (("server", "bob"), ("back", "alice")):
        with at.opened(name) as memory:
            assert memory.recall("gnome", owner=owner).memories


def test_async_engine_migrates(plain: Places) -> None:
    fill_owners(plain)
    done = asyncio.run(
        AsyncMemolith.migrate(
            plain.urls["back"], plain.urls["file"], config=plain.config, cipher=plain.ciphers
        )
    )
    assert done.is_finished
    assert plain.rows("back") == plain.rows("file")


# --- command line ---------------------------------------------------------------------------------


@pytest.fixture
def program(at: Places, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("MEMOLITH_POSTGRES__SCHEMA", at.config.settings.postgres.schema)
    return Program(WithoutModel(at.clock))


def test_migrate_command_copies_and_reports_differences(
    at: Places, program: Program, postgres_url: str
) -> None:
    fill_owners(at)
    to = ("migrate", "--to", at.urls["server"])
    done = program(*to, "--store", at.urls["file"])
    assert done.code == 0, done.err
    assert "Copied 3 owners" in done.out
    assert "Both stores are equal." in done.out
    report = program.json(*to, "--from", at.urls["file"], "--verify")
    assert (report["is_same"], report["copied"]) == (True, 0)
    assert [each["owner"] for each in report["compared"]] == ["alice", "bob", "carol", None]
    for each in report["compared"]:
        assert each["source"] == each["target"]
        assert each["source"]["rows"] > 0 or each["owner"] is None
    schema = sql.Identifier(at.config.settings.postgres.schema)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("UPDATE {}.events SET action = 'x'").format(schema))
    found = program(*to, "--store", at.urls["file"], "--verify")
    assert found.code == 16
    assert "events" in found.out
    assert program(*to, "--store", at.urls["file"]).code == 0


def test_commands_explain_incomplete_copy(at: Places, program: Program) -> None:
    fill_owners(at)
    with pytest.raises(MoveStopped):
        move(at, call_after(1, stop))
    for command in ("stats", "verify"):
        refused = program(command, "--store", at.urls["server"])
        assert refused.code == 10
        assert f"an incomplete copy of {at.urls['file']}" in refused.err
        assert "`memolith migrate --to …`" in refused.err


def test_errors_do_not_contain_password_of_url(program: Program, at: Places) -> None:
    fill_owners(at)
    url = "postgresql://me:s3cret@localhost:1/nothing"
    for arguments in (
        ("--to", url, "--from", at.urls["file"]),
        ("--to", at.urls["back"], "--from", url),
    ):
        refused = program("migrate", *arguments)
        assert refused.code != 0
        assert "s3cret" not in refused.out + refused.err
