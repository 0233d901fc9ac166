"""mem0 as installed by `pip install mem0ai`, with `infer=False`: no language model is used.

The second argument selects the vector store. The optional keyword search (spaCy with its model, or
fastembed) is not installed, so mem0 only compares vectors.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import uuid4

from answering import DIMENSION, ById, Handed, Seeds, Store, serve
from mem0 import Memory

KINDS = {
    "faiss": {"distance_strategy": "cosine"},
    "qdrant": {"on_disk": True},
}
"""Settings of each vector store besides its path; Qdrant runs in this process."""


class _Embedder:
    """Replaces mem0's client of an embedding service."""

    def __init__(self, handed: Handed) -> None:
        self._handed = handed

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return self._handed.list(text)


class Mem0Memory(Store, ById, Seeds):
    """A memory of several users."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Open or create the memory; no API key is needed without a model."""
        super().__init__(folder, handed)
        kind = sys.argv[2]
        placed: dict[str, Any] = {
            "path": str(folder / kind),
            "collection_name": "memories",
            "embedding_model_dims": DIMENSION,
            **KINDS[kind],
        }
        unasked = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": kind, "config": placed},
                "llm": unasked,
                "embedder": unasked,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = _Embedder(handed)

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Add all texts as messages of one call."""
        messages = [{"role": "user", "content": text} for text in texts]
        added = self._memory.add(messages, user_id=owner, infer=False)
        return [each["id"] for each in added["results"]]

    def seed(self, owner: str, texts: list[str]) -> None:
        """Insert into the vector store like `add`, but without the history."""
        now = datetime.now(UTC).isoformat()
        rows = [
            {
                "user_id": owner,
                "role": "user",
                "data": text,
                "hash": md5(text.encode(), usedforsecurity=False).hexdigest(),
                "created_at": now,
                "updated_at": now,
                "text_lemmatized": text,
            }
            for text in texts
        ]
        vectors = [self.handed.list(text) for text in texts]
        self._memory.vector_store.insert(vectors, rows, [str(uuid4()) for _ in texts])

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Search a user's memories."""
        found = self._memory.search(text, filters={"user_id": owner}, top_k=count, threshold=0.0)
        return [each["memory"] for each in found["results"]]

    def get(self, owner: str, id: str) -> str | None:
        """Read a memory by its id alone, as mem0 does."""
        del owner
        found = self._memory.get(id)
        return found["memory"] if found else None

    def delete(self, owner: str, id: str) -> None:
        """Delete a memory by its id alone."""
        del owner
        self._memory.delete(id)

    def close(self) -> None:
        """Close the history database."""
        self._memory.close()


if __name__ == "__main__":
    serve(Mem0Memory)
