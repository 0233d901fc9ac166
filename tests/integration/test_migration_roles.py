"""Migration, backup and restore as database roles under row-level security."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from memolith import Memolith
from memolith.adapters.postgres.schema import APPLICATION
from memolith.errors import StoreReadOnly
from memolith.testing.fakes import SettableClock
from support.postgres import own
from support.store_migration import Places, places

_USER, _OWNER = own("memolith_moving_user"), own("memolith_moving_owner")


@pytest.fixture
def at(tmp_path: Path, postgres_url: str, clock: SettableClock) -> Iterator[Places]:
    with places(tmp_path, postgres_url, clock, encrypted=False) as made:
        urls = {
            name: psycopg.conninfo.make_conninfo(postgres_url, user=name)
            for name in (_USER, _OWNER)
        }
        yield replace(made, urls={**made.urls, **{n: _as_url(u) for n, u in urls.items()}})


def _as_url(conninfo: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(conninfo)
    user, name = parts.pop("user"), parts.pop("dbname")
    rest = "&".join(f"{key}={value}" for key, value in parts.items())
    return f"postgresql://{user}@/{name}?{rest}"


def create_role(server: str, name: str, rights: str) -> None:
    with psycopg.connect(server, autocommit=True) as raw:
        (found,) = raw.execute("SELECT count(*) FROM pg_roles WHERE rolname = %s", (name,))
        if not found[0]:
            raw.execute(f"CREATE ROLE {name} LOGIN".encode())
        raw.execute(rights.format(name=name).encode())


def fill_store(at: Places, name: str) -> None:
    with at.opened(name) as memory:
        for owner in ("alice", "bob"):
            memory.learn(f"I live in {owner}ville. It rains.", "I see.", owner=owner)


def test_application_role_migrates_into_prepared_tables_and_back(
    at: Places, postgres_url: str
) -> None:
    fill_store(at, "file")
    at.opened("server").close()  # an administrator creates the tables
    create_role(postgres_url, _USER, f"GRANT {APPLICATION} TO {{name}}")
    assert at.move("file", _USER).is_finished
    assert at.rows(_USER) == at.rows("file")
    assert at.move(_USER, "back").is_finished
    assert at.rows("back") == at.rows("file")


def test_application_role_can_back_up_but_not_restore(
    at: Places, postgres_url: str, tmp_path: Path
) -> None:
    fill_store(at, "server")
    create_role(postgres_url, _USER, f"GRANT {APPLICATION} TO {{name}}")
    backup = tmp_path / "copy.db"
    with at.opened(_USER) as memory:
        memory.backup(backup)
    rows = at.rows("server")
    with pytest.raises(StoreReadOnly):
        Memolith.restore_backup(
            backup, at.urls[_USER], force=True, config=at.config, cipher=at.ciphers
        )
    done = Memolith.restore_backup(backup, at.urls["back"], config=at.config, cipher=at.ciphers)
    assert done.owners == 2
    assert (at.rows("back"), at.rows("server")) == (rows, rows)


def test_table_owner_without_superuser_can_restore(
    at: Places, postgres_url: str, tmp_path: Path
) -> None:
    fill_store(at, "file")
    backup = tmp_path / "copy.db"
    with at.opened("file") as memory:
        memory.backup(backup)
    at.opened("server").close()  # creates the roles
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        schema = at.config.settings.postgres.schema
        raw.execute(f"DROP SCHEMA {schema} CASCADE".encode())
    create_role(
        postgres_url,
        _OWNER,
        f"GRANT {APPLICATION}, memolith_maintenance TO {{name}};"
        " GRANT CREATE ON DATABASE postgres TO {name}",
    )
    for force in (False, True):
        done = Memolith.restore_backup(
            backup, at.urls[_OWNER], force=force, config=at.config, cipher=at.ciphers
        )
        assert (done.owners, done.previous_store is not None) == (2, force)
        with at.opened(_OWNER) as memory:
            assert memory.owners() == ["alice", "bob"]
            assert memory.recall("alice lives", owner="alice").memories
