"""Baseline: the numpy product, with a file of texts and one of vectors for each owner."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from answering import DIMENSION, Handed, Store, serve

LEAST = 1_024
"""Initial capacity in rows, doubled when full."""


@dataclass
class Owned:
    """One owner's data in memory."""

    texts: list[str] = field(default_factory=list)
    room: np.ndarray[Any, Any] = field(
        default_factory=lambda: np.empty((LEAST, DIMENSION), np.float32)
    )

    def take(self, texts: list[str], vectors: np.ndarray[Any, Any]) -> None:
        """Append texts and vectors."""
        end = len(self.texts) + len(texts)
        while end > len(self.room):
            self.room = np.concatenate([self.room, np.empty_like(self.room)])
        self.room[len(self.texts) : end] = vectors
        self.texts += texts

    def nearest(self, vector: np.ndarray[Any, Any], count: int) -> list[str]:
        """Return the texts whose vectors have the largest products."""
        if not self.texts:
            return []
        products = self.room[: len(self.texts)] @ vector
        best = np.argpartition(products, -min(count, len(products)))[-count:]
        return [self.texts[n] for n in best[np.argsort(-products[best])]]


class BareNumpy(Store):
    """Append-only files, without access by id."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Read the existing files."""
        super().__init__(folder, handed)
        self._owned: dict[str, Owned] = {}

    def _of(self, owner: str) -> Owned:
        if owner not in self._owned:
            self._owned[owner] = owned = Owned()
            texts, vectors = self._files(owner)
            if texts.exists():
                read = np.fromfile(vectors, np.float32).reshape(-1, DIMENSION)
                owned.take([json.loads(line) for line in texts.read_text().splitlines()], read)
        return self._owned[owner]

    def _files(self, owner: str) -> tuple[Path, Path]:
        name = quote(owner, safe="")
        return self.folder / f"{name}.texts", self.folder / f"{name}.vectors"

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Append to both files and sync to disk."""
        owned = self._of(owner)
        rows = np.stack([np.frombuffer(self.handed.vector(text), np.float32) for text in texts])
        lines = "".join(f"{json.dumps(text)}\n" for text in texts)
        for file, raw in zip(self._files(owner), (lines.encode(), rows.tobytes()), strict=True):
            with file.open("ab") as opened:
                opened.write(raw)
                opened.flush()
                os.fsync(opened.fileno())
        first = len(owned.texts)
        owned.take(texts, rows)
        return [str(number) for number in range(first, len(owned.texts))]

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Compare with all vectors of an owner."""
        vector = np.frombuffer(self.handed.vector(text), np.float32)
        return self._of(owner).nearest(vector, count)

    def close(self) -> None:
        """Do nothing: everything is written."""


if __name__ == "__main__":
    serve(BareNumpy)
