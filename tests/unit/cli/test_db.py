"""`memolith db`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memolith.adapters.postgres.schema import SCHEMA
from memolith.adapters.sqlite.schema import MIGRATIONS
from support.postgres import dropped, own

pytestmark = pytest.mark.sqlite  # or on PostgreSQL, where a test names it

PLACE = own("cli_db")


@pytest.fixture
def url(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("MEMOLITH_POSTGRES__SCHEMA", PLACE)
    dropped(postgres_url, PLACE)
    yield postgres_url
    dropped(postgres_url, PLACE)


def test_status_does_not_create_a_missing_file(memolith: Any, tmp_path: Any) -> None:
    assert memolith.json("db", "status", "--store", "memory.db")["schema_found"] == 0
    assert not (tmp_path / "memory.db").exists()
    memolith.ok("remember", "The gate's code is 4711", "--store", "memory.db")
    found = memolith.json("db", "status", "--store", "memory.db")
    assert (found["schema_found"], found["schema_needed"]) == (len(MIGRATIONS), len(MIGRATIONS))
    assert (found["owners"], found["encryption"]) == (1, "xchacha20-poly1305")
    assert found["size_bytes"] > 10_000
    shown = memolith.ok("db", "status", "--store", "memory.db").out
    assert "current" in shown
    assert found["key_ring"].endswith("memory_encryption.key.ring")


def test_file_store_needs_no_upgrade_and_supports_no_index(memolith: Any) -> None:
    assert "when it is opened" in memolith.ok("db", "upgrade", "--store", "memory.db").out
    for what in ("index", "distribute"):
        refused = memolith("db", what, "--store", "memory.db")
        assert refused.code == 2
        assert "is a file" in refused.err
    assert memolith("db", "status", "--drop", "--store", "memory.db").code == 2


def test_database_is_upgraded_inspected_and_indexed(memolith: Any, url: str) -> None:
    assert memolith.json("db", "status", "--store", url)["schema_found"] == 0
    made = memolith.ok("db", "upgrade", "--store", url)
    assert f"Created a store with schema {SCHEMA}" in made.out
    assert f"Migrated to schema {SCHEMA}" in made.err
    assert memolith.json("db", "upgrade", "--store", url) == {
        "from_schema": SCHEMA,
        "to_schema": SCHEMA,
    }
    assert "no vectors yet" in memolith("db", "index", "--store", url).err
    memolith.ok("remember", "The gate's code is 4711", "--store", url, "--owner", "alice")
    done = memolith.ok("db", "index", "--store", url)
    assert "CREATE INDEX CONCURRENTLY passages_nearest" in done.err
    assert memolith.json("db", "index", "--store", url)["changed"] is False
    found = memolith.json("db", "status", "--store", url)
    assert [(each["kind"], each["is_valid"]) for each in found["vector_indexes"]] == [
        ("hnsw", True)
    ]
    assert (found["role"], found["row_level_security_problem"], found["owners"]) == (
        "memolith_application",
        "",
        1,
    )
    assert found["key_ring"].endswith(f"schema {PLACE}_keys")
    shown = memolith.ok("db", "status", "--store", url).out
    assert "passages_nearest: hnsw" in shown
    assert memolith.json("db", "index", "--drop", "--store", url) == {"dropped": True}
    assert memolith.json("db", "index", "--drop", "--store", url) == {"dropped": False}


def test_database_keys_are_rotated_backed_up_and_restored(
    memolith: Any, url: str, tmp_path: Path
) -> None:
    memolith.ok("remember", "The gate's code is 4711", "--store", url, "--owner", "alice")
    memolith.ok("key", "rotate", "--store", url)
    said = memolith.json("key", "rotate", "--store", url, "--owner", "alice")
    assert said == {"owner_id": "alice", "version": 2}
    memolith.ok("key", "backup", "keys.json", "--store", url)
    assert memolith("key", "restore", "keys.json", "--store", url).code == 6
    (master,) = (tmp_path / "home").rglob("memory_encryption.key*")
    master.unlink()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {PLACE}_keys CASCADE".encode())
    lost = memolith("list", "--store", url, "--owner", "alice")
    assert lost.code == 9
    assert "memolith key restore" in lost.err
    memolith.ok("key", "restore", "keys.json", "--store", url)
    rows = memolith.json("list", "--store", url, "--owner", "alice")["memories"]
    assert [row["content"] for row in rows] == ["The gate's code is 4711"]


def test_status_reports_a_role_that_bypasses_row_level_security(memolith: Any, url: str) -> None:
    memolith.ok("db", "upgrade", "--store", url)
    login = own("memolith_test_unbound")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {login}".encode())
        connection.execute(f"CREATE ROLE {login} LOGIN BYPASSRLS".encode())
        connection.execute(f"GRANT memolith_application TO {login} WITH SET FALSE".encode())
    found = memolith.json("db", "status", "--store", f"{url}&user={login}")
    assert found["role"] == login
    assert "bypasses row-level security" in found["row_level_security_problem"]


def test_distribute_reports_missing_citus(memolith: Any, url: str) -> None:
    memolith.ok("db", "upgrade", "--store", url)
    refused = memolith("db", "distribute", "--store", url)
    assert refused.code == 3
    assert "does not have Citus" in refused.err


def test_output_contains_no_database_password(memolith: Any, url: str) -> None:
    for named in ("postgresql://me:hunter2@127.0.0.1:1/db", f"{url}&password=hunter2"):
        for command in (("db", "status"), ("db", "upgrade"), ("stats",), ("reset", "--yes")):
            for form in ((), ("--json",)):
                answer = memolith(*command, *form, "--store", named)
                assert "hunter2" not in answer.out + answer.err
    assert "hunter2" not in memolith("reset", "--store", f"{url}&password=hunter2", stdin="n\n").err
