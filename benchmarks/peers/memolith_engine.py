"""Memolith with the profile `standard`; the second argument selects the storage.

`plain` or `encrypted` for a file in the folder, otherwise the URL of a PostgreSQL database.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from answering import ById, Handed, Store, serve
from numpy.typing import NDArray

from memolith import Memolith
from memolith.config import load
from memolith.domain.memories import Action, Event, History, Memory, Version
from memolith.domain.recall import SearchFilter
from memolith.errors import NotFound
from memolith.import_export.records import MemoryRecord
from memolith.policies.arguments import ENTROPY_BYTES, uuid7
from memolith.policies.indexing import quantise
from memolith.ports.models import TextRole
from memolith.stores import open_store
from memolith.testing.fakes import HashingEmbedder, WordCounter


class HandedIn:
    """Given vectors; derived queries get the vector that was prepared for them."""

    name, dimension = HashingEmbedder().name, HashingEmbedder().dimension

    def __init__(self, handed: Handed) -> None:
        """Use the given vectors."""
        self._handed = handed
        self._hashing = HashingEmbedder()
        self._prepared: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return given or prepared vectors."""
        return np.stack([self._vector(text, role) for text in texts])

    def _vector(self, text: str, role: TextRole) -> NDArray[np.float32]:
        if self._handed.knows(text):
            return np.frombuffer(self._handed.vector(text), np.float32)
        if text not in self._prepared:
            self._prepared[text] = self._hashing.embed([text], role=role)[0]
        return self._prepared[text]


class MemolithEngine(Store, ById):
    """A store of several owners."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the store."""
        super().__init__(folder, handed)
        kind = sys.argv[2]
        self._url = str(folder / "memolith.db") if kind in {"plain", "encrypted"} else kind
        key = str(folder / "key")
        given = {"enable_encryption": kind == "encrypted", "encryption_key_path": key}
        self._config = load(None, {}, given)
        self._vectors = HandedIn(handed)
        self._memolith = Memolith.open(
            self._url, embedder=self._vectors, tokens=WordCounter(), config=self._config
        )

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Remember a single text, or import several in bulk."""
        if len(texts) == 1:
            return [self._memolith.remember(texts[0], owner=owner).id]
        records = [_chronicle(text, owner) for text in texts]
        self._memolith.import_(records, owner=owner)
        return [record.memory.id for record in records]

    def ready(self, text: str) -> None:
        """Embed the derived query in advance, so that lookup is as fast as for other peers."""
        self._memolith.recall(text, owner="nobody")

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Recall."""
        found = self._memolith.recall(text, owner=owner, top_k=count)
        return [each.content for each in found.memories]

    def nearest(self, owner: str, text: str, count: int) -> list[str]:
        """Search by vector alone, below the API, which always ranks."""
        vector = quantise(self._vectors.embed([text], role="query")[0])
        opened = open_store(self._url, self._config.settings)
        with closing(opened), opened.read(owner) as snapshot:
            near = snapshot.nearest(vector, count, SearchFilter(now=datetime.now(UTC)))
            ids = list(snapshot.items(near).record_id)
            return [memory.content for memory in snapshot.memories(ids)]

    def get(self, owner: str, id: str) -> str | None:
        """Read a memory as its owner."""
        try:
            return self._memolith.get(id, owner=owner).content
        except NotFound:
            return None

    def delete(self, owner: str, id: str) -> None:
        """Forget a memory as its owner."""
        try:
            self._memolith.forget(id, owner=owner)
        except NotFound:
            return

    def weight(self) -> int | None:
        """Return the size of a database after a checkpoint."""
        if not self._url.startswith("postgresql"):
            return None
        import psycopg

        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(found[0]) if found else None

    def close(self) -> None:
        """Close the store."""
        self._memolith.close()


def _chronicle(text: str, owner: str) -> MemoryRecord:
    at = datetime.now(UTC)
    made = uuid7(at, secrets.token_bytes(ENTROPY_BYTES))
    memory = Memory(
        id=made, owner_id=owner, kind="fact", content=text, created_at=at, updated_at=at
    )
    event = Event(made, Action.REMEMBERED, at, "user", 1)
    return MemoryRecord(memory, History((Version(memory, at, None),), (event,)))


if __name__ == "__main__":
    serve(MemolithEngine)
