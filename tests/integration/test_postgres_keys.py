"""The keys of a store in PostgreSQL: shared by machines, and apart from the data."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from memolith import Memolith
from memolith.adapters.crypto.key_backup import back_up_keys, restore_keys
from memolith.adapters.postgres.row_level_security import MAINTENANCE
from memolith.config import LoadedSettings, load
from memolith.errors import KeyUnavailable, StoreReadOnly
from memolith.stores import key_file, open_key_ring, reset_store
from memolith.testing.fakes import HashingEmbedder, WordCounter
from support.postgres import dropped, own

SCHEMA = own("keyed")
SAID = "My sister lives in Lisbon"


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    dropped(postgres_url, SCHEMA)
    yield postgres_url
    dropped(postgres_url, SCHEMA)


@pytest.fixture(autouse=True)
def _folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def loaded(url: str, **more: object) -> LoadedSettings:
    dotted = {name.replace("__", "."): value for name, value in more.items()}
    return load(overrides={"store": url, "postgres.schema": SCHEMA, **dotted})


def opened(config: LoadedSettings) -> Memolith:
    return Memolith.open(config=config, embedder=HashingEmbedder(), tokens=WordCounter())


def recalled(memory: Memolith) -> list[str]:
    return [each.record.content for each in memory.owner("alice").recall("sister").memories]


def test_another_machine_opens_the_store_with_the_master_key_alone(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = loaded(url)
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
    master = key_file(config.settings).path
    assert [file.name for file in master.parent.iterdir()] == [master.name]
    key = master.read_text().strip()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other machine"))
    config = loaded(url)
    with pytest.raises(KeyUnavailable, match="the key file is missing"):
        opened(config)
    monkeypatch.setenv("MEMOLITH_KEY", key)
    with opened(config) as memory:
        assert recalled(memory) == [SAID]
        memory.owner("bob").remember("Something of bob's")
    monkeypatch.setenv("MEMOLITH_KEY", "ab" * 32)
    with pytest.raises(KeyUnavailable, match="does not match the key ring"):
        opened(config)


def test_who_opens_a_new_store_at_once_gets_the_same_one(url: str) -> None:
    config = loaded(url)

    def stored(number: int) -> None:
        with opened(config) as memory:
            memory.owner(f"owner {number}").remember(SAID)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(stored, range(4)))
    with opened(config) as memory:
        assert len(memory.owners()) == 4
        assert memory.verify().findings == ()
    with closing(open_key_ring(config.settings)) as ring:
        assert len(ring.export_contents()[1].stores) == 1


def test_no_key_stands_in_the_stores_own_schema(url: str) -> None:
    config = loaded(url)
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
    ring = open_key_ring(config.settings)
    wrapped = {
        row[-1]
        for rows in (ring.export_contents()[1].stores, ring.export_contents()[1].owners)
        for row in rows
    }
    ring.close()
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables WHERE schemaname = %s",
            (SCHEMA,),
        ).fetchall()
        held = "".join(
            text
            for (table,) in tables
            for (text,) in connection.execute(f"SELECT x::text FROM {table} AS x".encode())  # noqa: S608
        )
    assert wrapped
    assert not any(each is not None and each.hex() in held for each in wrapped)


def test_maintenance_sees_no_keys_and_the_application_does(url: str) -> None:
    with opened(loaded(url)) as memory:
        memory.owner("alice").remember(SAID)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET ROLE memolith_application")
        assert connection.execute(f"TABLE {SCHEMA}_keys.owners".encode()).fetchall()
        connection.execute("RESET ROLE")
        connection.execute(f"SET ROLE {MAINTENANCE}".encode())
        for table in ("ring", "stores", "owners"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"TABLE {SCHEMA}_keys.{table}".encode())


def test_an_owner_who_was_erased_has_no_key_any_more(url: str) -> None:
    config = loaded(url)
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
        memory.owner("bob").remember(SAID)
        memory.erase("alice")
        assert memory._app.store.is_erased("alice")
    ring = open_key_ring(config.settings)
    rows = ring.export_contents()[1].owners
    ring.close()
    assert sorted(row[3] is None for row in rows) == [False, True]


def test_the_keys_of_an_owner_and_the_master_are_changed(url: str) -> None:
    config = loaded(url)
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
        assert memory.rotate_key("alice") == 2
        assert recalled(memory) == [SAID]
    before = key_file(config.settings).path.read_text()
    ring = open_key_ring(config.settings)
    ring.rotate()
    ring.close()
    assert key_file(config.settings).path.read_text() != before
    with opened(config) as memory:
        assert recalled(memory) == [SAID]


def test_the_master_key_of_files_is_another(url: str, tmp_path: Path) -> None:
    """So that to change the one does not take the other away."""
    config = loaded(url)
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
    other = loaded(str(tmp_path / "memory.db"))
    with opened(other) as memory:
        memory.owner("alice").remember(SAID)
    for each in (config, other):
        ring = open_key_ring(each.settings)
        ring.rotate()
        ring.close()
    for each in (config, other):
        with opened(each) as memory:
            assert recalled(memory) == [SAID]


def test_a_backup_of_the_keys_brings_a_lost_ring_back(url: str, tmp_path: Path) -> None:
    config = loaded(url)
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
    ring, file = open_key_ring(config.settings), tmp_path / "keys.json"
    back_up_keys(ring, file, None)
    key_file(config.settings).path.unlink()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {SCHEMA}_keys CASCADE".encode())
    ring.close()
    with pytest.raises(KeyUnavailable, match="the key ring is missing"):
        opened(config)
    ring = open_key_ring(config.settings)
    restore_keys(file, None, ring, key_file(config.settings))
    ring.close()
    with opened(config) as memory:
        assert recalled(memory) == [SAID]


def test_the_ring_can_stay_in_the_file(url: str) -> None:
    config = loaded(url, postgres__key_ring="file")
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
    names = {file.name for file in key_file(config.settings).path.parent.iterdir()}
    assert names == {"memory_encryption.key", "memory_encryption.key.ring"}
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT to_regnamespace(%s)", (f"{SCHEMA}_keys",)).fetchone()
        assert found == (None,)


def test_reset_deletes_the_store_and_its_keys_also_without_the_key(url: str) -> None:
    config = loaded(url)
    assert reset_store(config.settings) == []
    with opened(config) as memory:
        memory.owner("alice").remember(SAID)
    key_file(config.settings).path.unlink()
    (gone,) = reset_store(config.settings)
    assert gone.endswith(f"schema {SCHEMA}")
    with opened(config) as memory:
        assert recalled(memory) == []


def test_who_may_not_make_a_ring_is_told_so(url: str) -> None:
    login = own("memolith_test_ringless")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {login}".encode())
        connection.execute(f"CREATE ROLE {login} LOGIN".encode())
    ring = open_key_ring(loaded(f"{url}{'&' if '?' in url else '?'}user={login}").settings)
    with pytest.raises(StoreReadOnly, match="not allowed to create one"):
        ring.add_store()
    ring.close()
