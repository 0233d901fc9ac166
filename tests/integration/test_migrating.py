"""Moving a store between SQLite and PostgreSQL: all of it, once, whatever happens meanwhile."""

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

OF_A_DATABASE = {"meta", "probe", "vectors_sent", "vectors_due", "sqlite_sequence"}
"""Tables that say of themselves how a database is, or follow from the others."""


@pytest.fixture
def at(tmp_path: Path, postgres_url: str, clock: SettableClock) -> Iterator[Places]:
    with places(tmp_path, postgres_url, clock) as made:
        yield made


@pytest.fixture
def plain(tmp_path: Path, postgres_url: str, clock: SettableClock) -> Iterator[Places]:
    with places(tmp_path, postgres_url, clock, encrypted=False) as made:
        yield made


def furnished(at: Places) -> Places:
    """Give two owners something."""
    with at.opened("file") as memory:
        for owner in ("alice", "bob", "carol"):
            memory.learn(f"I live in {owner}ville. It rains.", "I see.", owner=owner)
            memory.remember(f"The gnome of {owner} is called Zyxglorp", owner=owner, key="gnome")
    return at


class Stopped(Exception):
    """Stands for a kill."""


def after(rows: int, what: Callable[[], object]) -> Callable[[int], None]:
    """Return what does something once, when so many rows were copied or compared."""
    left = [rows]

    def advance(steps: int) -> None:
        was, left[0] = left[0], left[0] - steps
        if left[0] <= 0 < was:
            what()

    return advance


def stop() -> None:
    raise Stopped


def move(
    at: Places, advance: Callable[[int], None], source: str = "file", to: str = "server"
) -> MigrationResult:
    return Memolith.migrate(
        at.urls[to], at.urls[source], config=at.config, cipher=at.ciphers, on_progress=advance
    )


# --- all of it ------------------------------------------------------------------------------------


def test_every_table_and_column_of_both_databases_is_copied(at: Places, postgres_url: str) -> None:
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
        assert {n: c for n, c in found.items() if n not in OF_A_DATABASE} == known
    assert set(SHARED_TABLES) - OF_A_DATABASE == {t.name for t in TABLES.values() if not t.is_owned}


def test_a_store_with_a_history_comes_back_from_the_other_database_as_it_was(at: Places) -> None:
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


def test_a_plain_store_comes_back_as_it_was(plain: Places) -> None:
    rows = furnished(plain).rows("file")
    for source, to in (("file", "server"), ("server", "back")):
        assert plain.move(source, to).is_finished
        assert plain.rows(to) == rows
    assert not plain.move("file", "server").copied
    assert plain.move("file", "server", verify=True).is_same


@pytest.mark.parametrize("rows_at_once", [1, 3])
def test_rows_come_whole_in_pages_of_any_size(
    plain: Places, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    rows = furnished(plain).rows("file")
    monkeypatch.setattr(tables, "_ROWS_PER_PAGE", rows_at_once)
    for source, to in (("file", "server"), ("server", "back")):
        assert plain.rows(source) == rows
        assert plain.move(source, to).is_finished
    monkeypatch.undo()
    assert plain.rows("back") == rows


def test_what_is_written_in_the_copy_is_sealed_for_the_copy_and_the_source_alike(
    at: Places,
) -> None:
    furnished(at).move("file", "server")
    with at.opened("server") as memory:
        memory.remember("The tower is blue", owner="alice")
        memory.remember("Somebody new", owner="dora")
    at.move("server", "back")
    with at.opened("back") as memory:
        assert memory.recall("tower", owner="alice").memories[0].record.content.endswith("blue")
        assert memory.recall("new", owner="dora").memories


# --- killed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "to"), [("file", "server"), ("server", "back")])
def test_a_move_that_was_stopped_is_refused_when_opened_and_goes_on(
    at: Places, source: str, to: str
) -> None:
    rows = furnished(at).rows("file")
    if source == "server":
        at.move("file", "server")
    one = sum(len(found) for (owner, _), found in rows.items() if owner == "alice")
    whole = []
    for moment in (1, one // 2, one * 3 // 2, one // 2, one * 3 // 2):
        with pytest.raises(Stopped):
            move(at, after(moment, stop), source, to)
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
def test_a_part_of_a_store_can_be_deleted_and_begun_anew(at: Places, to: str) -> None:
    furnished(at)
    with pytest.raises(Stopped):
        move(at, after(60, stop), to=to)
    assert reset_store(replace(at.config.settings, store=at.urls[to]))
    assert at.move("file", to).is_finished
    assert at.rows(to) == at.rows("file")
    at.opened(to).close()


KILLED = """
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


def killed(at: Places, source: str, to: str, moment: int) -> int:
    schema = at.config.settings.postgres.schema
    arguments = [at.urls[source], at.urls[to], schema, str(moment)]
    return subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], check=False, env=os.environ
    ).returncode


@pytest.mark.parametrize(("source", "to"), [("file", "server"), ("server", "back")])
def test_a_killed_move_goes_on(at: Places, source: str, to: str) -> None:
    rows = furnished(at).rows("file")
    if source == "server":
        at.move("file", "server")
    assert killed(at, source, to, 90) == -signal.SIGKILL
    assert at.move(source, to).is_finished
    assert at.rows(to) == rows


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("source", "to"), [("file", "server"), ("server", "back")])
def test_a_move_killed_at_every_moment_goes_on(at: Places, source: str, to: str) -> None:
    fill(at)
    rows = at.rows("file")
    if source == "server":
        at.move("file", "server")
    for moment in count(1, 149):
        if killed(at, source, to, moment) == 0:
            break
        there = at.rows(to)
        assert {key: rows[key] for key in there} == there
    assert moment > 149 * 8
    assert at.rows(to) == rows


# --- written to meanwhile -------------------------------------------------------------------------


def test_what_was_done_at_the_source_between_two_runs_comes_along(at: Places) -> None:
    furnished(at).move("file", "server")
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


def test_who_was_erased_and_came_back_has_nothing_of_before(plain: Places) -> None:
    furnished(plain).move("file", "server")
    before = plain.rows("server")[("alice", "memories")]
    with plain.opened("file") as memory:
        memory.erase("alice")
        memory.readmit("alice")
        # As often as before, so that the owner's state looks the same.
        memory.learn("I live in Otherville. It snows.", "I see.", owner="alice")
        memory.remember("The gnome of nobody is called Zyxglorp", owner="alice", key="gnome")
    assert plain.move("file", "server").is_finished
    assert plain.rows("server") == plain.rows("file")
    assert plain.rows("server")[("alice", "memories")] != before


@pytest.mark.parametrize("moment", [1, 70, 200, 260])
def test_what_is_written_while_it_is_moved_comes_along(at: Places, moment: int) -> None:
    def write() -> None:
        with at.opened("file") as memory:
            memory.purge(key="gnome", owner="alice")
            memory.rotate_key("carol")
            memory.erase("bob")
            memory.remember("A newcomer", owner="dora")

    furnished(at)
    assert move(at, after(moment, write)).is_finished
    assert at.rows("server") == at.rows("file")
    with at.opened("server") as memory:
        assert memory.recall("gnome", owner="carol").memories


def test_a_move_under_writes_that_never_stop_says_so_and_stays_unfinished(plain: Places) -> None:
    furnished(plain)
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


# --- compared -------------------------------------------------------------------------------------


def test_one_changed_value_at_the_target_is_found_and_copied_again(
    at: Places, postgres_url: str
) -> None:
    rows = furnished(at).rows("file")
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


# --- refused --------------------------------------------------------------------------------------


def test_a_target_that_holds_something_else_is_left_as_it_is(plain: Places, tmp_path: Path) -> None:
    furnished(plain)
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


def test_a_target_of_another_move_or_written_to_since_is_left_as_it_is(plain: Places) -> None:
    furnished(plain).move("file", "server")
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


def test_a_store_that_is_not_there_or_in_memory_is_not_moved_nor_made(
    plain: Places, tmp_path: Path
) -> None:
    for source, to in ((tmp_path / "no.db", plain.urls["back"]), (plain.urls["server"], "no.db")):
        with pytest.raises(NotFound):
            Memolith.migrate(to, source, config=plain.config, cipher=plain.ciphers)
    file = furnished(plain).urls["file"]
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


def test_an_empty_store_is_taken_with_the_sources_keys(at: Places) -> None:
    rows = furnished(at).rows("file")
    for to in ("server", "back"):
        at.opened(to).close()
        assert at.move("file", to).is_finished
        assert at.rows(to) == rows
        with at.opened(to) as memory:
            assert memory.recall("gnome", owner="alice").memories


def test_an_empty_store_that_is_not_encrypted_as_the_source_is_is_not_taken(at: Places) -> None:
    furnished(at)
    Memolith.open(at.urls["back"], config=at.config, cipher=PlainCipher()).close()
    with pytest.raises(Conflict, match="cipher"):
        at.move("file", "back")


def test_either_store_outlives_the_others_keys(at: Places) -> None:
    furnished(at).move("file", "server")
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


def test_moving_from_asynchronous_code(plain: Places) -> None:
    furnished(plain)
    done = asyncio.run(
        AsyncMemolith.migrate(
            plain.urls["back"], plain.urls["file"], config=plain.config, cipher=plain.ciphers
        )
    )
    assert done.is_finished
    assert plain.rows("back") == plain.rows("file")


# --- by the command -------------------------------------------------------------------------------


@pytest.fixture
def program(at: Places, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("MEMOLITH_POSTGRES__SCHEMA", at.config.settings.postgres.schema)
    return Program(WithoutModel(at.clock))


def test_the_command_moves_compares_and_tells_of_a_difference(
    at: Places, program: Program, postgres_url: str
) -> None:
    furnished(at)
    to = ("migrate", "--to", at.urls["server"])
    done = program(*to, "--store", at.urls["file"])
    assert done.code == 0, done.err
    assert "Copied 3 owners" in done.out
    assert "Both stores are equal." in done.out
    told = program.json(*to, "--from", at.urls["file"], "--verify")
    assert (told["is_same"], told["copied"]) == (True, 0)
    assert [each["owner"] for each in told["compared"]] == ["alice", "bob", "carol", None]
    for each in told["compared"]:
        assert each["source"] == each["target"]
        assert each["source"]["rows"] > 0 or each["owner"] is None
    schema = sql.Identifier(at.config.settings.postgres.schema)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("UPDATE {}.events SET action = 'x'").format(schema))
    found = program(*to, "--store", at.urls["file"], "--verify")
    assert found.code == 16
    assert "events" in found.out
    assert program(*to, "--store", at.urls["file"]).code == 0


def test_the_command_says_what_a_store_that_is_not_whole_lacks(
    at: Places, program: Program
) -> None:
    furnished(at)
    with pytest.raises(Stopped):
        move(at, after(1, stop))
    for command in ("stats", "verify"):
        refused = program(command, "--store", at.urls["server"])
        assert refused.code == 10
        assert f"an incomplete copy of {at.urls['file']}" in refused.err
        assert "`memolith migrate --to …`" in refused.err


def test_no_password_of_a_url_is_told(program: Program, at: Places) -> None:
    furnished(at)
    url = "postgresql://me:s3cret@localhost:1/nothing"
    for arguments in (
        ("--to", url, "--from", at.urls["file"]),
        ("--to", at.urls["back"], "--from", url),
    ):
        refused = program("migrate", *arguments)
        assert refused.code != 0
        assert "s3cret" not in refused.out + refused.err
