"""Stores as SQL text, so that what older versions wrote can be kept and looked at.

A new text is made by the version whose schema it is to keep, before the schema is changed:

    PYTHONPATH=src:tests python -m migrations.saving tests/migrations/schema_1.sql
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from memolith import Memolith, Message, Role
from memolith.adapters.crypto.plain import PlainCipher
from memolith.testing.clock import SettableClock
from memolith.testing.embedders import HashingEmbedder, WordCounter

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DIMENSION = 16


def opened(store: Path) -> Memolith:
    """Open a store as the saved ones were."""
    return Memolith.open(
        store,
        embedder=HashingEmbedder(DIMENSION),
        tokens=WordCounter(),
        clock=SettableClock(NOW),
        cipher=PlainCipher(),
    )


def furnish(memory: Memolith) -> None:
    """Give two owners something of everything, and erase a third."""
    said = [
        Message("Anna", "I live in Oslo. My cat is called Miso.", external_id="D1:1"),
        Message(None, "A fine name.", role=Role.ASSISTANT),
        Message("Anna", "From now on please answer in short sentences."),
    ]
    memory.log(said, owner="anna", session="s1")
    memory.learn("What is a fjord?", "A long inlet.", owner="anna", session="s2")
    memory.end_session("s1", owner="anna")
    memory.set_base_memory("Anna lives in Oslo.", owner="anna")
    memory.set_base_memory("Anna lives in Oslo with a cat.", owner="anna")
    note = memory.remember("The gate's code is 4711", owner="anna", key="gate", tags=["house"])
    memory.update(note.id, "The gate's code is 4712", owner="anna")
    wrong = memory.remember("The rent is 800", owner="anna")
    memory.forget(wrong.id, owner="anna")
    memory.forget(memory.messages(session="s2", owner="anna")[0].id, owner="anna")
    memory.recall("Where does she live?", owner="anna")
    memory.learn("I work at the harbour.", "Noted.", owner="bob", session="s1")
    memory.remember("Something", owner="carol")
    memory.erase("carol")
    memory.run_jobs()


def dumped(store: Path) -> Iterator[str]:
    """Yield the statements that make a store's file again."""
    with closing(apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READWRITE)) as file:
        for name in ("application_id", "user_version"):
            yield f"PRAGMA {name} = {file.pragma(name)};"
        tables = [
            *file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
        ]
        for name, sql in tables:
            if name != "sqlite_sequence":  # made with the first table that counts
                yield f"{sql};"
        for name, _ in tables:
            if name == "sqlite_sequence":  # what the rows before have made of it
                yield "DELETE FROM sqlite_sequence;"
            for (row,) in file.execute(_quoted(file, name)):
                yield f"INSERT INTO {name} VALUES ({row});"  # noqa: S608 - quoted by SQLite
        later = "SELECT sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL"
        yield from (f"{sql};" for (sql,) in file.execute(later))  # indexes, and triggers


def _quoted(file: apsw.Connection, table: str) -> str:
    """Return a query that gives a table's rows as SQL writes them."""
    columns = file.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
    values = " || ', ' || ".join(f'quote("{column}")' for (column,) in columns)
    return f"SELECT {values} FROM {table}"  # noqa: S608 - the schema's own names


def load(text: str, store: Path) -> None:
    """Make a store of saved statements."""
    with closing(apsw.Connection(str(store))) as file:
        file.execute(f"BEGIN; {text}; COMMIT")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        made = Path(folder) / "memory.db"
        with opened(made) as memory:
            furnish(memory)
        Path(sys.argv[1]).write_text("\n".join(dumped(made)) + "\n", encoding="utf-8")
