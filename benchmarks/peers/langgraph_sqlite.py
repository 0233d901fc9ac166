"""LangGraph's SqliteStore, with one namespace per owner."""

from __future__ import annotations

import loadable  # noqa: F401 - replaces the sqlite3 module for the imports below

# isort: split

from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

from answering import DIMENSION, ById, Handed, Store, serve
from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore


class LangGraphSqlite(Store, ById):
    """A store in one file, with a vector index."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the file."""
        super().__init__(folder, handed)
        self._open = ExitStack()
        index = {"dims": DIMENSION, "embed": self._embed, "text_fields": ["text"]}
        opening = SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
        self._store = self._open.enter_context(opening)
        self._store.setup()

    def _embed(self, texts: list[str]) -> list[list[float]]:
        return [self.handed.list(text) for text in texts]

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Put all texts in one batch."""
        ids = [str(uuid4()) for _ in texts]
        self._store.batch(
            [PutOp(_of(owner), k, {"text": text}) for k, text in zip(ids, texts, strict=True)]
        )
        return ids

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Search a namespace."""
        found = self._store.search(_of(owner), query=text, limit=count)
        return [item.value["text"] for item in found]

    def get(self, owner: str, id: str) -> str | None:
        """Read a key of a namespace."""
        item = self._store.get(_of(owner), id)
        return item.value["text"] if item else None

    def delete(self, owner: str, id: str) -> None:
        """Delete a key of a namespace."""
        self._store.delete(_of(owner), id)

    def close(self) -> None:
        """Close the file."""
        self._open.close()


def _of(owner: str) -> tuple[str, ...]:
    return ("memories", owner)


if __name__ == "__main__":
    serve(LangGraphSqlite)
