"""MemPalace: drawers in one room, with one wing per owner."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from answering import DIMENSION, ById, Handed, Store, serve

os.environ["MEMPALACE_EMBEDDING_MODEL"] = "openai-compat"
os.environ["MEMPALACE_EMBEDDING_API_URL"] = "http://127.0.0.1:9"
os.environ["MEMPALACE_EMBEDDING_API_MODEL"] = "handed"

from mempalace import embedding
from mempalace.palace import get_collection
from mempalace.searcher import search_memories

NOTHING = [1.0] + [0.0] * (DIMENSION - 1)
"""The vector of texts that MemPalace embeds only to determine the dimension."""


def handed_in(handed: Handed) -> type:
    """Return MemPalace's embedding client, with given vectors instead of requests."""

    class HandedIn(embedding.OpenAICompatEmbeddingFunction):
        def __call__(self, input: list[str]) -> list[list[float]]:
            return [handed.list(text) if handed.knows(text) else NOTHING for text in input]

        def embed_query(self, input: list[str]) -> list[list[float]]:
            return self(input)

    return HandedIn


class MemPalaceDrawers(Store, ById):
    """A palace."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the palace."""
        super().__init__(folder, handed)
        embedding.OpenAICompatEmbeddingFunction = handed_in(handed)
        self._palace = str(folder / "palace")
        os.environ["MEMPALACE_PALACE_PATH"] = self._palace
        self._drawers = get_collection(self._palace)

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Add drawers."""
        ids = [f"drawer_{uuid4().hex}" for _ in texts]
        filed = {
            "wing": owner,
            "room": "made",
            "source_file": "",
            "added_by": "benchmark",
            "filed_at": datetime.now(UTC).isoformat(),
            "chunk_index": 0,
        }
        self._drawers.upsert(ids=ids, documents=texts, metadatas=[dict(filed) for _ in texts])
        return ids

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Search a wing."""
        found = search_memories(text, self._palace, wing=owner, n_results=count)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [each["text"] for each in found["results"]]

    def get(self, owner: str, id: str) -> str | None:
        """Read a drawer by its id alone."""
        del owner
        found = self._drawers.get(ids=[id], include=["documents"])["documents"]
        return found[0] if found else None

    def delete(self, owner: str, id: str) -> None:
        """Delete a drawer by its id alone, as MemPalace's tool does."""
        del owner
        self._drawers.delete(ids=[id])

    def close(self) -> None:
        """Do nothing: everything is written."""


if __name__ == "__main__":
    serve(MemPalaceDrawers)
