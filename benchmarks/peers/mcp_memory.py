"""mcp-memory-service with its SQLite storage, with one of its stores per owner."""

from __future__ import annotations

import loadable  # noqa: F401 - replaces the sqlite3 module for the imports below

# isort: split

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from answering import DIMENSION, ById, Handed, Store, serve
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.utils.hashing import generate_content_hash

T = TypeVar("T")


class _Model:
    """Replaces the storage's model."""

    def __init__(self, handed: Handed) -> None:
        self._handed = handed

    def encode(self, texts: list[str], **_: Any) -> np.ndarray[Any, Any]:
        return np.array([self._handed.list(text) for text in texts], dtype=np.float32)


class _Storage(SqliteVecMemoryStorage):
    """The storage, with given vectors."""

    def __init__(self, path: str, handed: Handed) -> None:
        super().__init__(path)
        self._handed = handed

    async def _initialize_embedding_model(self) -> None:
        self.embedding_model = _Model(self._handed)
        self.embedding_dimension = DIMENSION


class McpMemory(Store, ById):
    """A storage with several stores."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the file."""
        super().__init__(folder, handed)
        self._loop = asyncio.new_event_loop()
        self._storage = _Storage(str(folder / "memory.db"), handed)
        self._run(self._storage.initialize())

    def _run(self, what: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(what)

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Store a single text by itself, several as a batch."""
        memories = [
            Memory(content=text, content_hash=generate_content_hash(text), tags=["made"])
            for text in texts
        ]
        if len(memories) == 1:
            stored = [self._run(self._storage.store(memories[0], store=owner))]
        else:
            stored = self._run(self._storage.store_batch(memories, store=owner))
        for done, why in stored:
            if not done:
                raise RuntimeError(why)
        return [memory.content_hash for memory in memories]

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Search a store."""
        found = self._run(self._storage.retrieve(text, n_results=count, store=owner))
        return [each.memory.content for each in found]

    def get(self, owner: str, id: str) -> str | None:
        """Read by hash from a store."""
        found = self._run(self._storage.get_by_hash(id, store=owner))
        return found.content if found else None

    def delete(self, owner: str, id: str) -> None:
        """Delete by hash from a store."""
        self._run(self._storage.delete(id, store=owner))

    def close(self) -> None:
        """Close the file."""
        self._run(self._storage.close())


if __name__ == "__main__":
    serve(McpMemory)
