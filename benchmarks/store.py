"""Measure the SQLite store: search by size, write rates, disk space, recall of the coarse scan.

    python benchmarks/store.py [--sizes 1000,10000,100000] [--dimension 384]

The data are synthetic: clustered vectors, and words with Zipf's law. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from uuid import UUID

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import apsw
import numpy as np
from numpy.typing import NDArray

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.store import SqliteStore
from memolith.domain.memories import Features, Span, Trait
from memolith.domain.messages import Message, Role
from memolith.domain.recall import SearchFilter
from memolith.policies.indexing import cosines, quantise
from memolith.ports.store import PART_BITS, IndexEntry, Passage, Snapshot

START = datetime(2024, 1, 1, tzinfo=UTC)
VOCABULARY = 20_000
TERMS_PER_MEMORY = 10
QUERY_TERMS = 5
POOL = 50
ROUNDS = 60
OWNER = "alice"


class Data:
    """Synthetic messages: texts of about ten words, vectors in clusters."""

    def __init__(self, size: int, dimension: int, seed: int = 1) -> None:
        """Generate vectors and words."""
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(max(4, size // 50), dimension))
        own = rng.integers(0, len(centres), size)
        self.vectors = quantise(centres[own] + rng.normal(size=(size, dimension)))
        self.queries = quantise(
            centres[rng.integers(0, len(centres), ROUNDS)] + rng.normal(size=(ROUNDS, dimension))
        )
        weights = 1 / np.arange(1, VOCABULARY + 1)
        weights /= weights.sum()
        self.words = rng.choice(VOCABULARY, (size, TERMS_PER_MEMORY), p=weights)
        self.query_words = rng.choice(VOCABULARY, (ROUNDS, QUERY_TERMS), p=weights)

    def messages(self) -> Iterator[tuple[Message, IndexEntry]]:
        """Yield messages of one session with their entries."""
        for number, (vector, words) in enumerate(zip(self.vectors, self.words, strict=True), 1):
            text = " ".join(f"word{word}" for word in words)
            said = START + timedelta(minutes=number)
            id_ = str(UUID(int=(int(said.timestamp() * 1000) << 80) | number))
            message = Message(None, text, Role.USER, said, id=id_, session_id="s1", sequence=number)
            terms: dict[str, int] = {}
            for word in words:
                terms[f"word{word}"] = terms.get(f"word{word}", 0) + 1
            digest = number.to_bytes(16, "big")
            passage = Passage(Span(0, len(text)), 14, terms, vector, digest)
            features = Features(Trait.NONE, len(words), 14)
            yield message, IndexEntry(features, (passage,), text)

    @property
    def text_bytes(self) -> int:
        """Size of the texts in bytes."""
        return sum(len(message.content) for message, _ in self.messages())


def timed(action: Callable[[int], object], rounds: int = ROUNDS) -> float:
    """Return the median time of an action in milliseconds."""
    times = []
    for turn in range(rounds):
        started = perf_counter()
        action(turn)
        times.append((perf_counter() - started) * 1000)
    return median(times)


def search(snapshot: Snapshot, data: Data, turn: int, scope: SearchFilter) -> None:
    """Run the store operations of a recall."""
    vector = data.queries[turn]
    near = snapshot.nearest(vector, POOL, scope)
    terms = [f"word{word}" for word in dict.fromkeys(data.query_words[turn].tolist())]
    postings = snapshot.postings(terms, scope)
    best = np.bincount(postings.slot, weights=postings.frequency, minlength=len(postings.passages))
    worded = postings.passages[np.argsort(-best, kind="stable")[:POOL]] >> PART_BITS
    numbers = np.union1d(near, worded)
    snapshot.items(numbers)
    snapshot.usage_stats(numbers)
    before, after = (snapshot.neighbours(numbers, step, scope) for step in (-1, 1))
    snapshot.items(before[before >= 0])
    snapshot.similarities(vector, numbers)
    snapshot.similarities(vector, after[after >= 0])
    snapshot.passages(numbers[:5])


def fill(store: SqliteStore, data: Data) -> float:
    """Log all messages, 1,000 per transaction; return messages per second, including entries."""
    pairs = list(data.messages())
    started = perf_counter()
    for first in range(0, len(pairs), 1000):
        with store.write(OWNER) as tx:
            tx.log("s1", pairs[first : first + 1000])
    return len(pairs) / (perf_counter() - started)


def single_writes(store: SqliteStore, dimension: int, count: int = 100) -> float:
    """Return durable single writes per second, each followed by a search."""
    spare = Data(count, dimension, seed=2)
    started = perf_counter()
    for place, (message, entry) in enumerate(spare.messages()):
        told = Message(
            None,
            message.content,
            Role.USER,
            message.at,
            id=str(UUID(int=place)),
            session_id="s2",
            sequence=place + 1,
        )
        with store.write(OWNER) as tx:
            tx.log("s2", [(told, entry)])
    return count / (perf_counter() - started)


def coarse_recall(
    snapshot: Snapshot, vectors: NDArray[np.int8], queries: NDArray[np.int8]
) -> float:
    """Return recall@10 of `nearest`."""
    hits = 0
    for query in queries:
        true = np.lexsort((np.arange(len(vectors)), -cosines(vectors, query)))[:10] + 1
        scope = SearchFilter(now=START + timedelta(days=9_999))
        hits += len(set(snapshot.nearest(query, 10, scope).tolist()) & set(true.tolist()))
    return hits / (10 * len(queries))


def measure(size: int, dimension: int, folder: Path) -> list[str]:
    """Return a column of the table."""
    data = Data(size, dimension)
    path = folder / f"{size}.db"
    store = SqliteStore.open(path, cipher=PlainCipher())
    store.adopt_embedder("made", dimension)
    rate = fill(store, data)
    store.close()
    extra = (path.stat().st_size - data.text_bytes) / size
    scope = SearchFilter(now=START + timedelta(days=9_999))
    store = SqliteStore.open(path, cipher=PlainCipher())
    started = perf_counter()
    with store.read(OWNER) as snapshot:
        snapshot.nearest(data.queries[0], POOL, scope)
    cold = (perf_counter() - started) * 1000

    def parts() -> Iterator[float]:
        with store.read(OWNER) as one:
            for turn in range(ROUNDS):
                search(one, data, turn, scope)
            terms = [[f"word{word}" for word in set(words)] for words in data.query_words]
            numbers = one.nearest(data.queries[0], 2 * POOL, scope)
            yield timed(lambda turn: one.nearest(data.queries[turn], POOL, scope))
            yield timed(lambda turn: one.postings(terms[turn], scope))
            yield timed(lambda turn: one.similarities(data.queries[turn], numbers))
            yield timed(lambda _: one.items(numbers))
            yield timed(lambda _: one.usage_stats(numbers))
            yield timed(lambda _: one.neighbours(numbers, 1, scope))

    def whole(turn: int) -> None:
        with store.read(OWNER) as one:
            search(one, data, turn, scope)

    columns = [f"{value:.3f}" for value in parts()]
    columns.append(f"{timed(whole):.3f}")
    with store.read(OWNER) as snapshot:
        columns.append(f"{coarse_recall(snapshot, data.vectors, data.queries[:30]):.4f}")
    columns += [f"{cold:.0f}", f"{rate:.0f}", f"{single_writes(store, dimension):.0f}"]

    def write_then_search(turn: int) -> float:
        message, entry = next(iter(Data(1, dimension, seed=turn + 3).messages()))
        told = Message(
            None,
            message.content,
            Role.USER,
            message.at,
            id=str(UUID(int=10_000 + turn)),
            session_id="s3",
            sequence=turn + 1,
        )
        with store.write(OWNER) as tx:
            tx.log("s3", [(told, entry)])
        started = perf_counter()
        with store.read(OWNER) as one:
            search(one, data, turn, scope)
        return (perf_counter() - started) * 1000

    columns.append(f"{median(write_then_search(turn) for turn in range(20)):.3f}")
    columns.append(f"{extra:.0f}")
    store.close()
    return columns


ROWS = (
    "nearest, ms",
    "postings, ms",
    "similarities of 100, ms",
    "items of 100, ms",
    "uses of 100, ms",
    "neighbours of 100, ms",
    "a whole search, ms",
    "recall@10 of nearest",
    "first search, cold, ms",
    "log in bulk, messages/s",
    "single durable writes/s",
    "search after a write, ms",
    "bytes per memory beyond text",
)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--dimension", type=int, default=384)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        columns = [measure(size, options.dimension, Path(folder)) for size in sizes]
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()},"
        f" numpy {np.__version__}, SQLite {apsw.sqlite_lib_version()}\n"
    )
    print("| |", " | ".join(f"{size:,}" for size in sizes), "|")
    print("|---" * (len(sizes) + 1) + "|")
    for place, name in enumerate(ROWS):
        print("|", name, "|", " | ".join(column[place] for column in columns), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
