"""Measure recall: its time, its stages, and the recall of the vector search."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from corpus import EMBEDDED, Corpus, Filled, embedded, filled
from measuring import Table, Taken, Times, in_turns, progress, ratio
from numpy.typing import NDArray

from memolith import Memolith
from memolith.bootstrap import open_embedder
from memolith.config import Settings
from memolith.domain.recall import SearchFilter
from memolith.policies.indexing import quantise
from memolith.ports.models import Embedder, TextRole
from memolith.stores import open_store
from memolith.testing.fakes import HashingEmbedder

QUERIES = 200
OWNERS = ("memories", "messages")
TOP_K = 5
RECALLED = 10
TARGET_MS = {1_000: 3.0, 10_000: 5.0, 100_000: 15.0}
"""Time of the bare product on the machine for which the targets were set."""


class Known:
    """A lookup table of vectors (0.03 ms), computed by `HashingEmbedder`."""

    def __init__(self, model: Embedder | None = None) -> None:
        """Optionally run a model as well, for its time; its result is unused."""
        self._hashing = HashingEmbedder()
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._model = model

    @property
    def name(self) -> str:
        """Name of the embedder of the vectors."""
        return self._hashing.name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._hashing.dimension

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return cached vectors of `HashingEmbedder`."""
        if self._model is not None:
            self._model.embed(texts, role=role)
        for text in texts:
            if text not in self._vectors:
                self._vectors[text] = self._hashing.embed([text], role=role)[0]
        return np.stack([self._vectors[text] for text in texts])


@contextmanager
def _opened(store: Filled, embedder: Embedder) -> Iterator[Memolith]:
    """Open a copy, since recall counts uses and would change later results."""
    with tempfile.TemporaryDirectory() as folder, store.copied(Path(folder)).open(embedder) as it:
        yield it


# --- Time


@dataclass(frozen=True, slots=True)
class _Bare:
    """The minimal vector search: one product and a partial sort."""

    matrix: NDArray[np.float32]
    queries: NDArray[np.float32]

    def __call__(self, number: int) -> None:
        np.argpartition(self.matrix @ self.queries[number], -RECALLED)


def recall(sizes: Sequence[int], corpus: Corpus) -> Table:
    """Time recalls of new queries after a warm-up with other queries."""
    model = _model()
    rows = []
    for size in sizes:
        store = filled(size, corpus)
        asked = corpus.queries(store.texts, 2 * QUERIES)
        with _opened(store, Known()) as stubbed, _opened(store, Known(model)) as whole:
            bare = _Bare(*(HashingEmbedder().embed(t, role="query") for t in (store.texts, asked)))
            for owner in OWNERS:
                progress(f"recall: {size:,} {owner}")
                taken = _timed(owner, asked, stubbed, whole, bare)
                rows.append(_recall_row(size, owner, taken))
    return Table("recall", rows, _RECALL_NOTE)


def _timed(
    owner: str, asked: Sequence[str], stubbed: Memolith, whole: Memolith, bare: _Bare
) -> dict[str, Taken]:
    for opened in (stubbed, whole):
        for query in asked[QUERIES:]:
            opened.recall(query, owner=owner, top_k=TOP_K)
    for query in asked[:QUERIES]:  # fills the lookup table; nothing is read
        stubbed.recall(query, owner="nobody")
        whole.recall(query, owner="nobody")
    return in_turns(
        QUERIES,
        {
            "stub": lambda n: stubbed.recall(asked[n], owner=owner, top_k=TOP_K),
            "model": lambda n: whole.recall(asked[n], owner=owner, top_k=TOP_K),
            "bare": bare,
        },
    )


def _recall_row(size: int, owner: str, taken: dict[str, Taken]) -> dict[str, object]:
    stub, model, bare = taken["stub"], taken["model"], taken["bare"]
    return {
        "owner has": f"{size:,} {owner}",
        "target, ms": TARGET_MS.get(size, "–"),
        "p50, ms": stub.wall.median * 1e3,
        "p95, ms": stub.wall.quantile(0.95) * 1e3,
        "CPU, ms": stub.cpu.median * 1e3,
        "p50 with model, ms": model.wall.median * 1e3,
        "p95 with model, ms": model.wall.quantile(0.95) * 1e3,
        "numpy product: CPU, ms": bare.cpu.median * 1e3,
        "recall ÷ product": ratio(stub.cpu.over(bare.cpu)),
    }


_RECALL_NOTE = (
    f"Hybrid recall of {TOP_K} results; {QUERIES} new queries after {QUERIES} warm-up queries. "
    "Without the model, a lookup table returns the query vector (0.03 ms). The baseline is one "
    "float32 matrix product in numpy and a partial sort. The ratio is of CPU times, with "
    "quartiles in brackets."
)


# --- Stages


def stages(sizes: Sequence[int], corpus: Corpus) -> Table:
    """Return the time of a recall by stage, from its trace."""
    rows = []
    for size in sizes:
        store = filled(size, corpus)
        asked = corpus.queries(store.texts, 2 * QUERIES)
        with _opened(store, Known()) as opened:
            for owner in OWNERS:
                progress(f"stages: {size:,} {owner}")
                taken: dict[str, list[float]] = defaultdict(list)
                for number, query in enumerate([*asked[QUERIES:], *asked[:QUERIES]]):
                    result = opened.recall(query, owner=owner, top_k=TOP_K, trace=True)
                    if number >= QUERIES and result.trace is not None:
                        for stage, seconds in result.trace.seconds.items():
                            taken[stage].append(seconds)
                medians = {f"{name}, ms": Times(s).median * 1e3 for name, s in taken.items()}
                rows.append({"owner has": f"{size:,} {owner}", **medians})
    return Table("stages", rows, _STAGES_NOTE)


_STAGES_NOTE = (
    "Medians over the same queries, from `recall(..., trace=True)`, which adds up to 10 %. "
    "prepare: names, dates and keywords of the query; embed: vector lookup and int8 "
    "quantisation; search: both searches; score: ranking; load: records, passages, "
    "deduplication, budget."
)


# --- Vector recall


def vectors(sizes: Sequence[int], corpus: Corpus) -> Table:
    """Compare the ten nearest of the vector search with an exact scan."""
    stores: list[tuple[str, Filled, Embedder]]
    stores = [(f"{size:,}, hashed", filled(size, corpus), HashingEmbedder()) for size in sizes]
    stores.append((f"{EMBEDDED:,}, local model", embedded(EMBEDDED, corpus), _model()))
    rows = []
    for name, store, embedder in stores:
        progress(f"vectors: {name}")
        shares = _shares(store, corpus.queries(store.texts, QUERIES), embedder)
        row = {"vectors": name, f"recall@{RECALLED}": float(np.mean(shares)), "target": 0.99}
        rows.append(row | {"worst query": min(shares)})
    return Table("vectors", rows, _VECTORS_NOTE)


def _shares(store: Filled, queries: Sequence[str], embedder: Embedder) -> list[float]:
    """Return for each query the share of results that are as near as those of the scan."""
    sought = quantise(embedder.embed(queries, role="query"))
    opened = open_store(str(store.path), Settings())
    with closing(opened), opened.read("messages") as snapshot:
        everything = snapshot.items(np.arange(1, len(store.texts) + 1)).number
        scope = SearchFilter(now=datetime.now(UTC))
        shares = []
        for vector in sought:
            exact = snapshot.similarities(vector, everything)
            least = np.sort(exact.cosine)[-RECALLED]
            near = snapshot.nearest(vector, RECALLED, scope)
            cosines = snapshot.similarities(vector, near).cosine
            shares.append(int((cosines >= least).sum()) / RECALLED)
    return shares


def _model() -> Embedder:
    return open_embedder(Settings())


_VECTORS_NOTE = (
    f"Recall against an exact scan of all stored vectors, over {QUERIES} queries. Hashed vectors "
    "are sums of random directions, one a word."
)
