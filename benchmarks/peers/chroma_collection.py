"""Embedded Chroma: one collection, with the owner in each record's metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import chromadb
from answering import ById, Handed, Store, serve
from chromadb.config import Settings


class ChromaCollection(Store, ById):
    """A collection on disk, with given vectors."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the collection."""
        super().__init__(folder, handed)
        settings = Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        space: Any = {"hnsw:space": "cosine"}
        self._collection = client.get_or_create_collection(
            "memories", metadata=space, embedding_function=None
        )

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Add records."""
        ids = [str(uuid4()) for _ in texts]
        self._collection.add(
            ids=ids,
            documents=texts,
            embeddings=[self.handed.list(text) for text in texts],
            metadatas=[{"owner": owner} for _ in texts],
        )
        return ids

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Query by vector."""
        found = self._collection.query(
            query_embeddings=[self.handed.list(text)], n_results=count, where={"owner": owner}
        )
        return (found["documents"] or [[]])[0]

    def get(self, owner: str, id: str) -> str | None:
        """Read a record by its id alone, as Chroma does."""
        del owner
        found = self._collection.get(ids=[id])["documents"] or []
        return found[0] if found else None

    def delete(self, owner: str, id: str) -> None:
        """Delete a record by its id alone."""
        del owner
        self._collection.delete(ids=[id])

    def close(self) -> None:
        """Do nothing: everything is written."""


if __name__ == "__main__":
    serve(ChromaCollection)
