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

from comparing import Filled, Measured, Workload, compare, fill
from corpus import Corpus
from environments import FOLDER, NotInstalled, describe_downloads, megabytes_with, prepare
from measuring import document_of_tables, machine, output, progress, report
from peer_tables import tables
from servers import database, drop_database, own_server
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


def results(names: Sequence[str], options: argparse.Namespace) -> Iterator[Measured]:
    """Yield the results for each size, Memolith's first."""
    corpus = Corpus()
    for size in options.sizes:
        workload = Workload.build(size, corpus)
        with tempfile.TemporaryDirectory(prefix="memolith-peers-") as scratch:
            first, memolith_peer = Measured(MEMOLITH, size), PEERS[MEMOLITH]
            program = Program(_python(first, options), memolith_peer.file, memolith_peer.arguments)
            memolith = Filled(program, Path(scratch, MEMOLITH))
            fill(first, memolith, workload, options.minutes)
            compare(first, memolith, workload, memolith)
            yield first
            for name in names:
                yield _measure(name, size, workload, memolith, options)


def _measure(
    name: str, size: int, workload: Workload, memolith: Filled, options: argparse.Namespace
) -> Measured:
    into = Measured(name, size)
    folder = memolith.folder.with_name(name)
    try:
        python = _python(into, options)
        with _running(name, python, options.url) as program:
            peer = Filled(program, folder)
            fill(into, peer, workload, options.minutes)
            compare(into, peer, workload, memolith)
    except (NotInstalled, PeerFailed, OSError, subprocess.CalledProcessError) as failed:
        into.left_out = str(failed)
        progress(f"{name}, {size:,}: {failed}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return into


def _python(into: Measured, options: argparse.Namespace) -> Path:
    """Return a peer's interpreter, and record the installed version and size."""
    peer, python = PEERS[into.peer], Path(sys.executable)
    into.install_mb = megabytes_with("memolith")
    if peer.environment:
        environment = prepare(peer.environment, options.environments)
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
    new_database = database(server, f"peers_{os.getpid()}")
    try:
        yield Program(python, peer.file, (new_database,))
    finally:
        drop_database(new_database)


# --- Earlier results and the command line


def _read(file: Path | None) -> list[Measured]:
    if file is None or not file.exists():
        return []
    return [Measured(**row) for row in json.loads(file.read_text())["results"]]


def _read_machine(file: Path | None) -> str:
    """Return the machine that a file names, or "" for this one."""
    return str(json.loads(file.read_text())["machine"]) if file and file.exists() else ""


def _merge(before: Sequence[Measured], now: Measured) -> list[Measured]:
    """Return both, in the order of peers and sizes; new results replace earlier ones."""
    earlier = [each for each in before if (each.peer, each.size) != (now.peer, now.size)]
    peer_order = list(PEERS)
    return sorted([*earlier, now], key=lambda each: (each.size, peer_order.index(each.peer)))


def main() -> None:
    """Run the requested measurements, and show or write their tables."""
    options = _arguments()
    names = [name for name in options.peers if name != MEMOLITH]
    needed = sorted({PEERS[name].environment for name in names} - {""})
    if options.rebuild:
        for name in needed:
            shutil.rmtree(options.environments / name, ignore_errors=True)
    measurements = _read(options.json)
    if options.peers:
        progress(describe_downloads(needed, options.environments))
    for measured in results(names, options) if options.peers else ():
        measurements = _merge(measurements, measured)
        if options.json:
            content = {"machine": machine(), "results": [asdict(each) for each in measurements]}
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(f"{json.dumps(content, indent=1, ensure_ascii=False)}\n")
    for table in tables(measurements, _read_machine(options.json)):
        report(table, options.write)


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choices = f"peers to measure: {', '.join(PEERS)}, or {ALL}"
    reading.add_argument("peers", nargs="*", metavar="PEER", help=choices)
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
    options = reading.parse_args()
    for name in set(options.peers) - {*PEERS, ALL}:
        reading.error(f"unknown peer {name!r}; choose from {', '.join(PEERS)}, {ALL}")
    if not options.peers and not options.json:
        reading.error(f"name the peers to measure, {choices}, or a file of results")
    if ALL in options.peers:
        options.peers = list(PEERS)
    return options


if __name__ == "__main__":
    main()
