"""Run the same tests on other databases: stores opened by path are created in PostgreSQL.

Tests of modules in `ON_BOTH` run on both databases. With `--everywhere`, all tests that open a
store do. Tests marked `sqlite` inspect files and run on SQLite only. In-memory stores are moved
too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

import apsw
import psycopg
import pytest
from psycopg import sql

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.schema import owner_number
from memolith.adapters.postgres.store import PostgresStore
from memolith.config import Settings
from memolith.ports.cipher import Cipher, CipherProvider
from memolith.ports.store import Store
from memolith.stores import IN_MEMORY, open_ciphers, open_store
from support.lock_probe import check_nothing_is_held as check_file_is_free
from support.postgres import dropped, is_made, on_server, own, remade

SQLITE, POSTGRES, CHROMA, SERVED = "sqlite", "postgres", "chroma", "served"

ON_BOTH = (
    *("conformance/", "unit/cli/"),
    *(f"integration/test_{name}.py" for name in ("edges", "recall", "learn", "forget")),
    *(f"integration/test_{name}.py" for name in ("purge", "erase", "transfer", "work_kept")),
    "integration/test_cli_program.py",
)
"""Path prefixes of modules whose tests always run on both databases."""

_MOSTLY_ON_SQLITE = tuple(
    f"unit/cli/test_{name}.py"
    for name in (
        *("audit", "chat", "config_show", "eval_and_demo", "exchange", "exits", "ingest", "main"),
        *("mcp_command", "progress", "terminal"),
    )
)
"""Modules in `ON_BOTH` that mostly test texts and files: on PostgreSQL they are long tests."""

_IN_CHROMA = ("conformance/", "unit/cli/")
"""Path prefixes of modules that `--chroma` runs with vectors in Chroma."""

_ABOUT_FILES = "unit/cli/test_keys.py"

_BEYOND = ("conformance/", "unit/cli/", "integration/", "properties/test_engine.py")
"""Path prefixes that `--everywhere` adds."""

_SERVED = (
    "conformance/",
    *(f"integration/test_{name}.py" for name in ("edges", "recall", "remember", "learn", "forget")),
    *(f"integration/test_{name}.py" for name in ("purge", "erase", "transfer", "ingest", "review")),
    *(f"integration/test_{name}.py" for name in ("changes", "base_memory", "consolidation")),
    *(f"integration/test_{name}.py" for name in ("compressing", "switching", "screening", "audit")),
)
"""Path prefixes that `--served` runs through a service and its client."""

_NAMED_OTHERWISE = ("inmemory", ":memory:")


@dataclass(frozen=True, slots=True)
class _Made:
    """Provides an existing cipher for a new store."""

    cipher: Cipher

    def create(self) -> Cipher:
        return self.cipher

    def load(self, name: str, store_id: bytes, check: bytes) -> Cipher:
        raise AssertionError((name, store_id, check))


@dataclass(slots=True)
class Places:
    """Maps files to schemas of the server, which are emptied and reused."""

    of: dict[str, str] = field(default_factory=dict)
    opened: list[Store] = field(default_factory=list)
    is_on: bool = False

    def open(self, url: str, settings: Settings, ciphers: CipherProvider | None = None) -> Store:
        """Open the store that replaces a file, or an in-memory store, of that name."""
        ciphers = ciphers or open_ciphers(settings)
        name = f"{url} {len(self.of)}" if url == IN_MEMORY else str(Path(url).resolve())
        if name not in self.of:
            self.of[name] = self._new(ciphers)
        own = replace(settings.postgres, schema=self.of[name], key_ring="file")
        store = open_store(on_server(), replace(settings, postgres=own), ciphers)
        self.opened.append(store)
        return store

    def is_there(self, url: str) -> bool:
        """Return whether a store replaces a file of that name."""
        return str(Path(url).resolve()) in self.of

    def _new(self, ciphers: CipherProvider) -> str:
        """Return a schema with an empty store, encrypted with a cipher of the provider."""
        cipher = ciphers.create()
        form = "plain" if isinstance(cipher, PlainCipher) else "sealed"
        taken = set(self.of.values())
        schema = next(name for n in range(1_000) if (name := own(f"{form}_place_{n}")) not in taken)
        if is_made(on_server(), schema):
            remade(on_server(), schema, cipher)
        else:
            PostgresStore.open(on_server(), cipher=_Made(cipher), schema=schema).close()
        return schema

    def variables(self, path: Path) -> dict[str, str]:
        """Return variables that make a program use the replacement of a path, if there is one.

        The replacement of an unknown path is created.
        """
        if not self.is_on:
            return {}
        name = str(path.resolve())
        if name not in self.of:
            self.of[name] = own(f"program_place_{len(self.of)}")
            dropped(on_server(), self.of[name])
        return {
            "MEMOLITH_STORE": on_server(),
            "MEMOLITH_POSTGRES__SCHEMA": self.of[name],
            "MEMOLITH_POSTGRES__KEY_RING": "file",
        }

    @contextmanager
    def standing_in(self) -> Iterator[None]:
        """Replace stores for the duration of the block."""
        with self.lent(), pytest.MonkeyPatch.context() as patch:
            patch.setattr("memolith.stores.open_store", self.open)
            patch.setattr("memolith.stores.store_exists", self.is_there)
            patch.setattr(self, "is_on", True)
            yield

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Return schemas and close stores at the end of the block."""
        before, opened = dict(self.of), len(self.opened)
        yield
        self.of = before
        for store in self.opened[opened:]:
            store.close()
        del self.opened[opened:]


@contextmanager
def in_chroma() -> Iterator[None]:
    """Search the vectors of SQLite stores in a Chroma in this process."""

    def open_(url: str, settings: Settings, ciphers: CipherProvider | None = None) -> Store:
        if url == IN_MEMORY:
            url = str(Path(tempfile.mkdtemp(dir=folder)) / "memory.db")
        vectors = replace(settings.vectors, backend="chroma")
        return open_store(url, replace(settings, vectors=vectors), ciphers)

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("memolith.stores.open_store", open_)
        yield


PLACES = Places()
"""Schemas of this process."""


def execute(path: Path, *statements: str) -> int:
    """Run statements directly on the store of a path; return the number of changed rows.

    Statements are in SQLite's dialect and translated for PostgreSQL. The first owner is Alice, the
    second Bob.
    """
    schema = PLACES.of.get(str(path.resolve()))
    if schema is None:
        with closing(apsw.Connection(str(path))) as connection:
            for statement in statements:
                connection.execute(statement)
            return connection.total_changes()
    with _within(schema) as raw:
        return sum(raw.execute(_said(each).encode()).rowcount for each in statements)


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """Return the result of a statement that runs directly on the store of a path."""
    schema = PLACES.of.get(str(path.resolve()))
    if schema is None:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            return list(connection.execute(statement))
    with _within(schema) as raw:
        return raw.execute(_said(statement).encode()).fetchall()


def contents(path: Path) -> dict[str, bytes]:
    """Return the files of a store, or its tables as dumped by the server."""
    schema = PLACES.of.get(str(path.resolve()))
    if schema is None:
        return {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}
    with _within(schema) as raw:
        tables = (
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
        )
        return {
            table: _copied(raw, table) for (table,) in raw.execute(tables, (schema,)).fetchall()
        }


def bytes_under(folder: Path) -> bytes:
    """Return the contents of all files in a folder, and of the stores that replace files there."""
    files = [each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()]
    stores = [name for name in PLACES.of if Path(name).is_relative_to(folder.resolve())]
    return b"".join([*files, *chain.from_iterable(contents(Path(s)).values() for s in stores)])


def _copied(raw: psycopg.Connection[Any], table: str) -> bytes:
    statement = sql.SQL("COPY {} TO STDOUT (FORMAT binary)").format(sql.Identifier(table))
    with raw.cursor() as cursor, cursor.copy(statement) as copy:
        return b"".join(copy)


def check_nothing_is_held(path: Path) -> None:
    """Check that no snapshot or transaction of a store is open.

    Raises:
        AssertionError: One is open.
    """
    schema = PLACES.of.get(str(path.resolve()))
    if schema is None:
        check_file_is_free(path)
        return
    with _within(schema) as raw:
        started = monotonic()
        while raw.execute(_HELD, (schema,)).fetchall():
            if monotonic() > started + _PATIENCE_S:
                raise AssertionError("a snapshot or a transaction of the store is open")


_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
_HELD = (
    "SELECT 1 FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation"
    " WHERE c.relnamespace = %s::regnamespace AND l.granted AND l.pid <> pg_backend_pid()"
)
_PATIENCE_S = 5.0
"""Grace period in seconds, since other threads may read or write for a moment."""


@contextmanager
def _within(schema: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(on_server(), autocommit=True) as raw:
        raw.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
        yield raw


_WORDS = (
    (r"\bowner_id = 1\b", f"owner_id = {owner_number('alice')}"),
    (r"\bowner_id = 2\b", f"owner_id = {owner_number('bob')}"),
    (r"(VALUES \(|SELECT )1,", rf"\g<1>{owner_number('alice')},"),
    (r"\bzeroblob\((\d+)\)", r"decode(repeat('00', \1), 'hex')"),
    (r"\brandomblob\(16\)", "decode(md5(random()::text), 'hex')"),
    (r"\bx'([0-9a-f]*)'", r"'\\x\1'::bytea"),
    (r"\bAS BLOB\b", "AS bytea"),
)


def _said(statement: str) -> str:
    """Return a statement in PostgreSQL's dialect."""
    for pattern, words in _WORDS:
        statement = re.sub(pattern, words, statement)
    return statement


def is_wanted(item: pytest.Item) -> bool:
    """Return whether a test is meaningful on its database."""
    callspec = getattr(item, "callspec", None)
    values = dict(callspec.params) if callspec else {}
    if values.pop("database", SQLITE) == SQLITE:
        return True
    return not any(value in _NAMED_OTHERWISE for value in values.values() if isinstance(value, str))


def databases(
    definition: pytest.Item, *, everywhere: bool, chroma: bool, served: bool
) -> list[str | pytest.ParameterSet]:
    """Return the databases to run a test on; some are marked as long tests."""
    path = definition.path.relative_to(Path(__file__).parents[1]).as_posix()
    named = path.startswith(ON_BOTH) or (everywhere and path.startswith(_BEYOND))
    is_other = definition.get_closest_marker("sqlite") is not None
    if chroma and path.startswith(_IN_CHROMA) and path != _ABOUT_FILES:
        return [SQLITE, CHROMA]
    if served and path.startswith(_SERVED):
        is_local = definition.get_closest_marker("local") is not None
        return [SQLITE] if is_local else [SQLITE, SERVED]
    if is_other or not named:
        return [SQLITE]
    is_long = path.startswith(_MOSTLY_ON_SQLITE) and not everywhere
    return [SQLITE, pytest.param(POSTGRES, marks=pytest.mark.soak) if is_long else POSTGRES]
