"""Compare the speed of Memolith with other products: same machine, texts and vectors.

    make bench-peers ARGS="numpy sqlite-vec"                 # with 1,000 and 10,000 memories
    make bench-peers ARGS="chroma langgraph --sizes 1000"
    make bench-peers ARGS="all --minutes 20 --json peers.json --write docs/benchmarks.md"

Each peer runs in its own environment in the user's cache folder, which pip creates once. The
download size is printed first. `--rebuild` recreates the environments. Only the named peers and
Memolith run.

With `--json`, the file keeps earlier results, which also appear in the tables. Without names, only
the tables are written. `make bench-plots` draws the file.
"""

from __future__ import annotations

import os

# Fresh processes find compiled files, as in an installation.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

# ruff: noqa: E402 - the imports read these variables

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from comparing import Filled, Given, Measured, compare, fill
from corpus import Corpus
from environments import FOLDER, NotInstalled, announced, megabytes_with, prepared
from measuring import document_of_tables, machine, output, progress, report
from peer_tables import tables
from servers import database, dropped, own_server
from talking import PeerFailed, Program

SIZES = (1_000, 10_000)
MINUTES = 10.0
MEMOLITH, POSTGRESQL = "memolith", "memolith-postgresql"
ALL = "all"
_VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


@dataclass(frozen=True, slots=True)
class Peer:
    """A product or library to measure.

    Attributes:
        file: Its program in the folder of peers.
        distribution: Distribution whose version is shown.
        environment: Its environment; empty for this one.
        arguments: Arguments of its program.
    """

    file: str
    distribution: str
    environment: str = ""
    arguments: tuple[str, ...] = ()


PEERS = {
    MEMOLITH: Peer("memolith_engine.py", "memolith", arguments=("plain",)),
    "memolith-encrypted": Peer("memolith_engine.py", "memolith", arguments=("encrypted",)),
    POSTGRESQL: Peer("memolith_engine.py", "memolith", arguments=("postgresql",)),
    "mem0-faiss": Peer("mem0_memory.py", "mem0ai", "mem0", ("faiss",)),
    "mem0-qdrant": Peer("mem0_memory.py", "mem0ai", "mem0", ("qdrant",)),
    "chroma": Peer("chroma_collection.py", "chromadb", "chroma"),
    "langgraph": Peer("langgraph_sqlite.py", "langgraph-checkpoint-sqlite", "langgraph"),
    "mcp-memory-service": Peer("mcp_memory.py", "mcp-memory-service", "mcp-memory-service"),
    "mempalace": Peer("mempalace_drawers.py", "mempalace", "mempalace"),
    "txtai": Peer("txtai_hybrid.py", "txtai", "txtai"),
    "sqlite-vec": Peer("bare_sqlite_vec.py", "sqlite-vec", "bare"),
    "numpy": Peer("bare_numpy.py", "numpy", "bare"),
    "usearch": Peer("bare_usearch.py", "usearch", "bare"),
}


def results(names: Sequence[str], asked: argparse.Namespace) -> Iterator[Measured]:
    """Yield the results for each size, Memolith's first."""
    corpus = Corpus()
    for size in asked.sizes:
        given = Given.of(size, corpus)
        with tempfile.TemporaryDirectory(prefix="memolith-peers-") as scratch:
            first, own = Measured(MEMOLITH, size), PEERS[MEMOLITH]
            program = Program(_python(first, asked), own.file, own.arguments)
            memolith = Filled(program, Path(scratch, MEMOLITH))
            fill(first, memolith, given, asked.minutes)
            compare(first, memolith, given, memolith)
            yield first
            for name in names:
                yield _measured(name, size, given, memolith, asked)


def _measured(
    name: str, size: int, given: Given, memolith: Filled, asked: argparse.Namespace
) -> Measured:
    into = Measured(name, size)
    folder = memolith.folder.with_name(name)
    try:
        python = _python(into, asked)
        with _running(name, python, asked.url) as program:
            peer = Filled(program, folder)
            fill(into, peer, given, asked.minutes)
            compare(into, peer, given, memolith)
    except (NotInstalled, PeerFailed, OSError, subprocess.CalledProcessError) as failed:
        into.left_out = str(failed)
        progress(f"{name}, {size:,}: {failed}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return into


def _python(into: Measured, asked: argparse.Namespace) -> Path:
    """Return a peer's interpreter, and record the installed version and size."""
    peer, python = PEERS[into.peer], Path(sys.executable)
    into.install_mb = megabytes_with("memolith")
    if peer.environment:
        environment = prepared(peer.environment, asked.environments)
        python, into.install_mb = environment.python, environment.megabytes
    into.version = output(str(python), "-c", _VERSION, peer.distribution).strip()
    return python


@contextmanager
def _running(name: str, python: Path, url: str) -> Iterator[Program]:
    """Yield a peer's program; a PostgreSQL database exists for as long."""
    peer = PEERS[name]
    if name != POSTGRESQL:
        yield Program(python, peer.file, peer.arguments)
        return
    server = url or own_server(Path(tempfile.gettempdir(), "memolith-peers"), stays=False)
    own = database(server, f"peers_{os.getpid()}")
    try:
        yield Program(python, peer.file, (own,))
    finally:
        dropped(own)


# --- Earlier results and the command line


def _read(file: Path | None) -> list[Measured]:
    if file is None or not file.exists():
        return []
    return [Measured(**row) for row in json.loads(file.read_text())["results"]]


def _measured_on(file: Path | None) -> str:
    """Return the machine that a file names, or "" for this one."""
    return str(json.loads(file.read_text())["machine"]) if file and file.exists() else ""


def _merged(before: Sequence[Measured], now: Measured) -> list[Measured]:
    """Return both, in the order of peers and sizes; new results replace earlier ones."""
    kept = [each for each in before if (each.peer, each.size) != (now.peer, now.size)]
    order = list(PEERS)
    return sorted([*kept, now], key=lambda each: (each.size, order.index(each.peer)))


def main() -> None:
    """Run the requested measurements, and show or write their tables."""
    asked = _arguments()
    names = [name for name in asked.peers if name != MEMOLITH]
    needed = sorted({PEERS[name].environment for name in names} - {""})
    if asked.rebuild:
        for name in needed:
            shutil.rmtree(asked.environments / name, ignore_errors=True)
    found = _read(asked.json)
    if asked.peers:
        progress(announced(needed, asked.environments))
    for measured in results(names, asked) if asked.peers else ():
        found = _merged(found, measured)
        if asked.json:
            kept = {"machine": machine(), "results": [asdict(each) for each in found]}
            asked.json.parent.mkdir(parents=True, exist_ok=True)
            asked.json.write_text(f"{json.dumps(kept, indent=1, ensure_ascii=False)}\n")
    for table in tables(found, _measured_on(asked.json)):
        report(table, asked.write)


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = f"peers to measure: {', '.join(PEERS)}, or {ALL}"
    reading.add_argument("peers", nargs="*", metavar="PEER", help=known)
    reading.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    reading.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="exclude stores that take longer to fill",
    )
    reading.add_argument(
        "--json", type=Path, metavar="FILE", help="add the results to those in FILE"
    )
    reading.add_argument(
        "--write", type=document_of_tables, metavar="FILE", help="update the tables in FILE"
    )
    reading.add_argument("--rebuild", action="store_true", help="recreate the environments")
    reading.add_argument("--environments", type=Path, default=FOLDER, metavar="FOLDER")
    reading.add_argument(
        "--url", default="", help="URL of a PostgreSQL server; default: a temporary one"
    )
    asked = reading.parse_args()
    for name in set(asked.peers) - {*PEERS, ALL}:
        reading.error(f"unknown peer {name!r}; choose from {', '.join(PEERS)}, {ALL}")
    if not asked.peers and not asked.json:
        reading.error(f"name the peers to measure, {known}, or a file of results")
    if ALL in asked.peers:
        asked.peers = list(PEERS)
    return asked


if __name__ == "__main__":
    main()
