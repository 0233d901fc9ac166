"""Compare vector backends of a SQLite store: search time, recall and disk space.

    make bench-vectors                            # 1,000, 10,000 and 50,000 vectors of one owner
    make bench-vectors ARGS="--sizes 1000"
    make bench-vectors ARGS="--write docs/how-to/vector-backends.md"

The vectors are synthetic clusters of 384 dimensions. Chroma runs in this process, and as a
temporary local server.
"""

from __future__ import annotations

import os

# Set before numpy is imported: products are compared on one thread.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

# ruff: noqa: E402 - the imports read these variables

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import perf_counter, sleep
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from measuring import Table, Times, document_of_tables, progress, report
from numpy.typing import NDArray

from memolith.adapters.chroma.client import ChromaServer, EmbeddedChroma
from memolith.adapters.chroma.store import ChromaStore
from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.sqlite.store import SqliteStore, SqliteVecStore
from memolith.domain.memories import Span
from memolith.domain.recall import SearchFilter
from memolith.policies.indexing import cosines, quantise
from memolith.ports.store import Passage
from memolith.testing.builders import at, entry, memory

SIZES = (1_000, 10_000, 50_000)
DIMENSION, CLUSTERS, SPREAD = 384, 200, 0.7
QUERIES, FOUND, BATCH = 100, 10, 1_000
NOW = SearchFilter(now=at(10**8))
OWNER = "owner"
_MEGABYTE = 1_000_000

Vectors = NDArray[np.int8]
Make = Callable[[Path], SqliteStore]


def made(count: int, seed: int) -> Vectors:
    """Return vectors around the same centres."""
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, DIMENSION))
    random = np.random.default_rng(seed)
    near = random.standard_normal((count, DIMENSION)) * SPREAD
    return np.stack([quantise(row) for row in centres[random.integers(0, CLUSTERS, count)] + near])


def fill(path: Path, vectors: Vectors) -> None:
    """Create a store with one memory per vector."""
    with closing(SqliteStore.open(path, cipher=PlainCipher())) as store:
        store.adopt_embedder("made", DIMENSION)
        for start in range(0, len(vectors), BATCH):
            block = range(start, min(start + BATCH, len(vectors)))
            with store.write(OWNER) as tx:
                tx.insert(
                    [
                        (
                            memory(n + 1, owner_id=OWNER),
                            entry(Passage(Span(0, 1), 1, {}, vectors[n])),
                        )
                        for n in block
                    ]
                )


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a Chroma server and yield its URL."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("chroma")
    process = subprocess.Popen(  # noqa: S603 - Chroma's own program
        [program, "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while not answers(url):
            if process.poll() is not None:
                raise SystemExit(f"the Chroma server exited with code {process.returncode}")
            sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def answers(url: str) -> bool:
    """Return whether a server is running."""
    try:
        with urlopen(f"{url}/api/v2/heartbeat", timeout=5) as answer:  # noqa: S310 - local
            return bool(answer.status == 200)  # noqa: PLR2004 - OK
    except (URLError, OSError):
        return False


def size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def row(name: str, store: SqliteStore, vectors: Vectors, folder: Path | None) -> dict[str, object]:
    """Return the measurements of one backend."""
    queries = made(QUERIES, 2)
    begun = perf_counter()
    if isinstance(store, ChromaStore):
        assert store._outbox_sender.send()  # noqa: SLF001, S101 - run the worker's task
    sent_s = perf_counter() - begun
    found, seconds = [], []
    for query in queries:
        begun = perf_counter()
        with store.read(OWNER) as snapshot:
            found.append(snapshot.nearest(query, FOUND, NOW))
        seconds.append(perf_counter() - begun)
    exact = [np.argsort(-cosines(vectors, query), kind="stable")[:FOUND] + 1 for query in queries]
    hits = [len(np.intersect1d(a, b)) / FOUND for a, b in zip(found, exact, strict=True)]
    times = Times(seconds[1:])
    return {
        "vectors of one owner": len(vectors),
        "searched by": name,
        "nearest 10, ms": times.median * 1000,
        "p99, ms": times.quantile(0.99) * 1000,
        "first, ms": seconds[0] * 1000,
        f"recall@{FOUND}": f"{np.mean(hits):.3f}",
        "sent a second": len(vectors) / sent_s if folder else "",
        "bytes a vector besides": size(folder) / len(vectors) if folder else 0,
    }


def measured(count: int, folder: Path) -> list[dict[str, object]]:
    """Return the rows of one size."""
    progress(f"{count:,} vectors")
    vectors, filled = made(count, 1), folder / "filled.db"
    fill(filled, vectors)
    inside, outside = folder / "inside", folder / "outside"
    with server(outside) as url:
        ways: dict[str, tuple[Make, Path | None]] = {
            "memory": (lambda p: SqliteStore.open(p, cipher=PlainCipher()), None),
            "sqlite-vec": (lambda p: SqliteVecStore.open(p, cipher=PlainCipher()), None),
            "chroma, in this process": (lambda p: chroma(p, EmbeddedChroma(inside)), inside),
            "chroma, a server": (lambda p: chroma(p, ChromaServer(url, 60.0)), outside),
        }
        rows = []
        for name, (make, beside) in ways.items():
            copy = folder / f"{name}.db"
            shutil.copy(filled, copy)
            with closing(make(copy)) as store:
                rows.append(row(name, store, vectors, beside))
    return rows


def chroma(path: Path, of: EmbeddedChroma | ChromaServer) -> ChromaStore:
    """Open a store whose vectors Chroma searches."""
    return ChromaStore.open(path, cipher=PlainCipher(), chroma=of)


def main() -> None:
    """Measure, and show or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument(
        "--write", type=document_of_tables, metavar="FILE", help="update the table in FILE"
    )
    args = parser.parse_args()
    rows: list[dict[str, object]] = []
    for count in args.sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(count, Path(folder))
    note = f"{QUERIES} queries; time of the store's search without the embedder."
    report(Table("vector-backends", rows, note), args.write)


if __name__ == "__main__":
    main()
