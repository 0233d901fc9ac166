"""Baseline: the HNSW graph of usearch, with an index and a file of texts for each owner."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
from answering import DIMENSION, Handed, Store, serve
from usearch.index import Index


class BareUsearch(Store):
    """Indexes in memory, written when the program ends and not durable before."""

    def __init__(self, folder: Path, handed: Handed) -> None:
        """Set the folder; an owner's index is read on first use."""
        super().__init__(folder, handed)
        self._owned: dict[str, tuple[Index, list[str]]] = {}

    def _of(self, owner: str) -> tuple[Index, list[str]]:
        if owner not in self._owned:
            index, texts = Index(ndim=DIMENSION, metric="cos", dtype="f32"), []
            file = self._file(owner)
            if file.exists():
                index.load(file)
                texts = json.loads(file.with_suffix(".json").read_text())
            self._owned[owner] = index, texts
        return self._owned[owner]

    def _file(self, owner: str) -> Path:
        return self.folder / f"{quote(owner, safe='')}.usearch"

    def add(self, owner: str, texts: list[str]) -> list[str]:
        """Add vectors in memory."""
        index, known = self._of(owner)
        numbers = np.arange(len(known), len(known) + len(texts))
        rows = [np.frombuffer(self.handed.vector(text), np.float32) for text in texts]
        index.add(numbers, np.stack(rows))
        known += texts
        return [str(number) for number in numbers]

    def search(self, owner: str, text: str, count: int) -> list[str]:
        """Search the graph of an owner."""
        index, known = self._of(owner)
        if not known:
            return []
        vector = np.frombuffer(self.handed.vector(text), np.float32)
        return [known[int(number)] for number in index.search(vector, count).keys]

    def close(self) -> None:
        """Write the added vectors."""
        for owner, (index, texts) in self._owned.items():
            file = self._file(owner)
            index.save(file)
            file.with_suffix(".json").write_text(json.dumps(texts))


if __name__ == "__main__":
    serve(BareUsearch)
