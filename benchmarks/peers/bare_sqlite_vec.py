"""Baseline: the exact scan of sqlite-vec, with its vectors partitioned by owner."""

from __future__ import annotations

import loadable  # noqa: F401 - replaces the sqlite3 module for the imports below

# isort: split

import sqlite3
from pathlib import Path

import sqlite_vec
from answering import DIMENSION, ById, Handed, Store, serve

TABLES = f"""
CREATE TABLE IF NOT EXISTS texts (id INTEGER PRIMARY KEY, owner TEXT NOT NULL, text TEXT NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0 (
    owner TEXT PARTITION KEY, vector FLOAT[{DIMENSION}] distance_metric=cosine
);
"""
NEAREST = """
SELECT text FROM (
    SELECT rowid, distance FROM vectors WHERE owner = ? AND vector MATCH ? AND k = ?
) AS found JOIN texts ON texts.id = found.rowid ORDER BY distance
"""


class BareSqliteVec(Store, ById):
    """A store in one file."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the file; commits are synced to disk."""
        super().__init__(folder, handed)
        self._file = sqlite3.connect(folder / "vectors.db")
        self._file.enable_load_extension(True)
        sqlite_vec.load(self._file)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = FULL")
        self._file.executescript(TABLES)

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Insert all texts in one transaction."""
        with self._file:
            return [str(self._insert(owner, text)) for text in texts]

    def _insert(self, owner: str, text: str) -> int:
        into = "INSERT INTO texts (owner, text) VALUES (?, ?) RETURNING id"
        (number,) = self._file.execute(into, (owner, text)).fetchone()
        row = (number, owner, self.handed.vector(text))
        self._file.execute("INSERT INTO vectors (rowid, owner, vector) VALUES (?, ?, ?)", row)
        return int(number)

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Compare with all vectors of an owner."""
        rows = self._file.execute(NEAREST, (owner, self.handed.vector(text), count))
        return [found for (found,) in rows]

    def get(self, owner: str, id: str) -> str | None:
        """Read a row of an owner."""
        query = "SELECT text FROM texts WHERE id = ? AND owner = ?"
        row = self._file.execute(query, (int(id), owner)).fetchone()
        return row[0] if row else None

    def delete(self, owner: str, id: str) -> None:
        """Delete a row of an owner."""
        with self._file:
            row = "DELETE FROM texts WHERE id = ? AND owner = ? RETURNING id"
            for (gone,) in self._file.execute(row, (int(id), owner)).fetchall():
                self._file.execute("DELETE FROM vectors WHERE rowid = ?", (gone,))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


if __name__ == "__main__":
    serve(BareSqliteVec)
