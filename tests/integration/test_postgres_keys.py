"""The key ring of a PostgreSQL store: shared by machines, separate from the data."""

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
CONTENT = "My sister lives in Lisbon"


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    dropped(postgres_url, SCHEMA)
    yield postgres_url
    dropped(postgres_url, SCHEMA)


@pytest.fixture(autouse=True)
def isolated_config_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def load_config(url: str, **more: object) -> LoadedSettings:
    dotted = {name.replace("__", "."): value for name, value in more.items()}
    return load(overrides={"store": url, "postgres.schema": SCHEMA, **dotted})


def open_memory(config: LoadedSettings) -> Memolith:
    return Memolith.open(config=config, embedder=HashingEmbedder(), tokens=WordCounter())


def recall_contents(memory: Memolith) -> list[str]:
    return [each.record.content for each in memory.owner("alice").recall("sister").memories]


def test_another_machine_needs_only_the_master_key(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(url)
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
    master = key_file(config.settings).path
    assert [file.name for file in master.parent.iterdir()] == [master.name]
    key = master.read_text().strip()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other machine"))
    config = load_config(url)
    with pytest.raises(KeyUnavailable, match="the key file is missing"):
        open_memory(config)
    monkeypatch.setenv("MEMOLITH_KEY", key)
    with open_memory(config) as memory:
        assert recall_contents(memory) == [CONTENT]
        memory.owner("bob").remember("Something of bob's")
    monkeypatch.setenv("MEMOLITH_KEY", "ab" * 32)
    with pytest.raises(KeyUnavailable, match="does not match the key ring"):
        open_memory(config)


def test_concurrent_first_openings_create_one_store(url: str) -> None:
    config = load_config(url)

    def store_one(number: int) -> None:
        with open_memory(config) as memory:
            memory.owner(f"owner {number}").remember(CONTENT)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(store_one, range(4)))
    with open_memory(config) as memory:
        assert len(memory.owners()) == 4
        assert memory.verify().findings == ()
    with closing(open_key_ring(config.settings)) as ring:
        assert len(ring.export_contents()[1].stores) == 1


def test_store_schema_contains_no_keys(url: str) -> None:
    config = load_config(url)
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
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


def test_only_the_application_role_can_read_keys(url: str) -> None:
    with open_memory(load_config(url)) as memory:
        memory.owner("alice").remember(CONTENT)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET ROLE memolith_application")
        assert connection.execute(f"TABLE {SCHEMA}_keys.owners".encode()).fetchall()
        connection.execute("RESET ROLE")
        connection.execute(f"SET ROLE {MAINTENANCE}".encode())
        for table in ("ring", "stores", "owners"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"TABLE {SCHEMA}_keys.{table}".encode())


def test_erasing_an_owner_deletes_the_key(url: str) -> None:
    config = load_config(url)
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
        memory.owner("bob").remember(CONTENT)
        memory.erase("alice")
        assert memory._app.store.is_erased("alice")
    ring = open_key_ring(config.settings)
    rows = ring.export_contents()[1].owners
    ring.close()
    assert sorted(row[3] is None for row in rows) == [False, True]


def test_owner_key_and_master_key_can_be_rotated(url: str) -> None:
    config = load_config(url)
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
        assert memory.rotate_key("alice") == 2
        assert recall_contents(memory) == [CONTENT]
    before = key_file(config.settings).path.read_text()
    ring = open_key_ring(config.settings)
    ring.rotate()
    ring.close()
    assert key_file(config.settings).path.read_text() != before
    with open_memory(config) as memory:
        assert recall_contents(memory) == [CONTENT]


def test_file_stores_have_a_separate_master_key(url: str, tmp_path: Path) -> None:
    """Rotating one master key does not invalidate the other."""
    config = load_config(url)
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
    other = load_config(str(tmp_path / "memory.db"))
    with open_memory(other) as memory:
        memory.owner("alice").remember(CONTENT)
    for each in (config, other):
        ring = open_key_ring(each.settings)
        ring.rotate()
        ring.close()
    for each in (config, other):
        with open_memory(each) as memory:
            assert recall_contents(memory) == [CONTENT]


def test_key_backup_restores_a_lost_key_ring(url: str, tmp_path: Path) -> None:
    config = load_config(url)
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
    ring, file = open_key_ring(config.settings), tmp_path / "keys.json"
    back_up_keys(ring, file, None)
    key_file(config.settings).path.unlink()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {SCHEMA}_keys CASCADE".encode())
    ring.close()
    with pytest.raises(KeyUnavailable, match="the key ring is missing"):
        open_memory(config)
    ring = open_key_ring(config.settings)
    restore_keys(file, None, ring, key_file(config.settings))
    ring.close()
    with open_memory(config) as memory:
        assert recall_contents(memory) == [CONTENT]


def test_key_ring_can_be_stored_in_a_file(url: str) -> None:
    config = load_config(url, postgres__key_ring="file")
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
    names = {file.name for file in key_file(config.settings).path.parent.iterdir()}
    assert names == {"memory_encryption.key", "memory_encryption.key.ring"}
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT to_regnamespace(%s)", (f"{SCHEMA}_keys",)).fetchone()
        assert found == (None,)


def test_reset_without_the_master_key_deletes_store_and_keys(url: str) -> None:
    config = load_config(url)
    assert reset_store(config.settings) == []
    with open_memory(config) as memory:
        memory.owner("alice").remember(CONTENT)
    key_file(config.settings).path.unlink()
    (gone,) = reset_store(config.settings)
    assert gone.endswith(f"schema {SCHEMA}")
    with open_memory(config) as memory:
        assert recall_contents(memory) == []


def test_role_without_permission_cannot_create_a_key_ring(url: str) -> None:
    login = own("memolith_test_ringless")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {login}".encode())
        connection.execute(f"CREATE ROLE {login} LOGIN".encode())
    ring = open_key_ring(load_config(f"{url}{'&' if '?' in url else '?'}user={login}").settings)
    with pytest.raises(StoreReadOnly, match="not allowed to create one"):
        ring.add_store()
    ring.close()
