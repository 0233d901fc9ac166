"""Stores in PostgreSQL as SQL text, so that what older versions wrote can be kept.

A new text is made by the version whose schema it is to keep, before the schema is changed; for
encrypted stores the keys are saved beside it:

    PYTHONPATH=src:tests python -m migrations.saving_postgres tests/migrations
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg import sql

from memolith import Memolith
from memolith.adapters.crypto.backup import back_up, restore
from memolith.adapters.crypto.master import KeyFile
from memolith.adapters.crypto.plain import PlainCipher
from memolith.adapters.crypto.ring import KeyRing
from memolith.adapters.crypto.xchacha import KeyRingCiphers
from memolith.adapters.postgres.schema import BOUND, FREE, MIGRATIONS, SCHEMA, Shape
from memolith.adapters.postgres.values import HIDDEN, PLAIN
from memolith.config import load
from memolith.ports.cipher import Ciphers
from memolith.testing.clock import SettableClock
from memolith.testing.embedders import HashingEmbedder, WordCounter
from migrations.saving import DIMENSION, NOW, furnish

FORMS = {"plain": PLAIN, "encrypted": HIDDEN}


def saved(folder: Path, schema: int, form: str) -> Path:
    """Return where a store of a schema is saved."""
    return folder / f"postgres_{schema}_{form}.sql"


def keys(folder: Path, schema: int) -> Path:
    """Return where the keys of the encrypted one are."""
    return folder / f"postgres_{schema}_keys.json"


def opened(url: str, schema: str, cipher: Ciphers) -> Memolith:
    """Open a store as the saved ones were."""
    return Memolith.open(
        url,
        embedder=HashingEmbedder(DIMENSION),
        tokens=WordCounter(),
        clock=SettableClock(NOW),
        cipher=cipher,
        config=load(overrides={"postgres.schema": schema}),
    )


def ring_in(folder: Path) -> KeyRing:
    """Return a ring in a folder."""
    return KeyRing(folder / "key.ring", KeyFile(folder / "key"))


def ciphers_of(folder: Path, schema: int, form: str, at: Path) -> Ciphers:
    """Return what opens a saved store, its keys brought to a folder."""
    if form == "plain":
        return PlainCipher()
    ring = ring_in(at)
    restore(keys(folder, schema), None, ring, KeyFile(at / "key"))
    return KeyRingCiphers(ring)


def dumped(url: str, schema: str, form: str) -> Iterator[str]:
    """Yield the statements that make a store again, in the schema that is the search path."""
    for migration in MIGRATIONS:
        yield migration(Shape(FORMS[form], 0)).strip()
    with psycopg.connect(url) as connection:
        connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
        for table in (*BOUND, *FREE):
            if table != "probe":  # a script makes its rows
                for (row,) in connection.execute(_quoted(connection, schema, table)):
                    yield f"INSERT INTO {table} VALUES ({row});"  # noqa: S608 - quoted


def _quoted(connection: psycopg.Connection[tuple[str]], schema: str, table: str) -> bytes:
    columns = connection.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
        (schema, table),
    ).fetchall()
    values = ", ".join(f'quote_nullable("{column}"::text)' for (column,) in columns)
    return f"SELECT concat_ws(', ', {values}) FROM {table} ORDER BY 1".encode()  # noqa: S608


def load_saved(text: str, url: str, schema: str) -> None:
    """Make a store of saved statements."""
    with psycopg.connect(url) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        connection.execute(text.encode())


if __name__ == "__main__":
    from support.postgres import dropped, on_server

    folder, server = Path(sys.argv[1]), on_server()
    with TemporaryDirectory() as place:
        for name in FORMS:
            ring = ring_in(Path(place))
            cipher = PlainCipher() if name == "plain" else KeyRingCiphers(ring)
            dropped(server, "saving")
            with opened(server, "saving", cipher) as memory:
                furnish(memory)
            lines = dumped(server, "saving", name)
            saved(folder, SCHEMA, name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        back_up(ring, keys(folder, SCHEMA), None)
