"""txtai with vectors, keywords and stored content.

The owner is a field of the content, on which searches filter in SQL.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from answering import ById, Handed, Store, serve
from txtai import Embeddings


def handed_in(handed: Handed, texts: list[str]) -> np.ndarray[Any, Any]:
    """Return the given vectors of texts."""
    return np.array([handed.list(text) for text in texts], dtype=np.float32)


class TxtaiHybrid(Store, ById):
    """An index in a folder."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Load or configure the index."""
        super().__init__(folder, handed)
        self._at = str(folder / "index")
        self._unsaved = False
        external = {"method": "external", "transform": lambda texts: handed_in(handed, texts)}
        self._embeddings = Embeddings(external, content=True, hybrid=True)
        if self._embeddings.exists(self._at):
            self._embeddings.load(self._at, config=external)

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Index texts and save: after each single text, or once at the end for several.

        Unsaved texts are lost with the process.
        """
        ids = [str(uuid4()) for _ in texts]
        self._embeddings.upsert(
            [
                (one, {"text": text, "owner": owner}, None)
                for one, text in zip(ids, texts, strict=True)
            ]
        )
        self._unsaved = True
        if len(texts) == 1:
            self._save()
        return ids

    def _save(self) -> None:
        if self._unsaved:
            self._embeddings.save(self._at)
        self._unsaved = False

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Search an owner's texts by vector and keyword."""
        return self._search(owner, text, count, None)

    def nearest(self, owner: str, text: str, count: int) -> list[str]:
        """Search by vector alone."""
        return self._search(owner, text, count, 1.0)

    def _search(self, owner: str, text: str, count: int, weights: float | None) -> list[str]:
        query = "select text from txtai where similar(:text) and owner = :owner"
        asked = {"text": text, "owner": owner}
        found = self._embeddings.search(query, count, weights=weights, parameters=asked)
        return [each["text"] for each in found]

    def get(self, owner: str, id: str) -> str | None:
        """Read a text by its id alone."""
        del owner
        query = "select text from txtai where id = :id"
        found = self._embeddings.search(query, 1, parameters={"id": id})
        return found[0]["text"] if found else None

    def delete(self, owner: str, id: str) -> None:
        """Delete a text by its id alone."""
        del owner
        self._embeddings.delete([id])

    def close(self) -> None:
        """Save and close the index."""
        self._save()
        self._embeddings.close()


if __name__ == "__main__":
    serve(TxtaiHybrid)
