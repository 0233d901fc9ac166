"""Measure document ingestion: throughput, time by stage, and memory.

    make bench-ingesting                                             # a few minutes
    make bench-ingesting ARGS="ingest --megabytes 1"                 # less text
    make bench-ingesting ARGS="ingest-memory --sizes 10 20 40"       # megabytes; slow
    make bench-ingesting ARGS="--write docs/benchmarks.md"           # update the docs

The text is generated for each run, always the same.
"""

from __future__ import annotations

import os

# As in speed.py: set before numpy is imported; stores are plain.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
os.environ["MEMOLITH_ENABLE_ENCRYPTION"] = "false"

# ruff: noqa: E402 - the imports read these variables

import argparse
import cProfile
import hashlib
import json
import pstats
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time

import numpy as np
from corpus import SEED, Corpus
from measuring import Table, document_of_tables, output, progress, report
from numpy.typing import NDArray

from memolith import Memolith
from memolith.bootstrap import open_embedder
from memolith.cli.commands.learning import open_text
from memolith.config import Settings
from memolith.ports.models import Embedder, TextRole

MEGABYTES, MODEL_MEGABYTES = 5, 1
"""Sizes for the stub and for the local model, which takes ten times as long."""
MEMORY_SIZES = (2.5, 5, 10)
PROFILES = ("standard", "chunks")
EMBEDDERS = ("stub", "local model")
DIMENSION = 384
_SENTENCES, _OF_SECTION = 2_000, 20
_OF_DOCUMENTS = 5_000
"""First stream of the corpus that is used for documents."""
_KB = 1_024
_MEMORY_PROFILE = "chunks"
PARTS = ("ingest", "ingest-stages", "ingest-memory")


class Stub:
    """Returns a random direction for any text at no cost, so that only Memolith's time remains."""

    name = "stub"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return unit vectors, shape (n, 384)."""
        del role
        rows = np.stack([_direction(text) for text in texts])
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(
            np.float32
        )
        return unit


def _direction(text: str) -> NDArray[np.float32]:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest)).standard_normal(DIMENSION, np.float32)


# --- Text


def document(megabytes: float, corpus: Corpus) -> Iterator[str]:
    """Yield a handbook of a number of million bytes, by section; all sections differ."""
    left = round(megabytes * 1e6)
    for section in _sections(corpus):
        yield section[:left]
        left -= len(section)
        if left <= 0:
            return


def _sections(corpus: Corpus) -> Iterator[str]:
    random = np.random.default_rng(SEED)
    number = count(1)
    for stream in count(_OF_DOCUMENTS):
        said = iter(corpus.texts(_SENTENCES, stream=stream))
        while some := tuple(islice(said, _OF_SECTION)):
            yield _section(next(number), some, random)


def _section(number: int, said: Sequence[str], random: np.random.Generator) -> str:
    """Return a heading, two or three paragraphs, and often a list, code or a table."""
    title = " ".join(said[0].rstrip(".").split()[:4])
    extra = (_list, _code, _table, None)[random.integers(4)]
    cut = int(random.integers(4, 9))
    parts = [f"## {number}. {title}", " ".join(said[1:cut]), " ".join(said[cut:14])]
    parts.append(extra(said[14:]) if extra else " ".join(said[14:]))
    return "\n\n".join(parts) + "\n\n"


def _list(said: Sequence[str]) -> str:
    return "\n".join(f"- {each}" for each in said)


def _code(said: Sequence[str]) -> str:
    lines = (f'    step("{each}", retries={len(each)})' for each in said)
    return "\n".join(("```python", "def run(step):", *lines, "```"))


def _table(said: Sequence[str]) -> str:
    rows = (f"| {' '.join(each.split()[:3])} | {len(each)} | {each.split()[-1]} |" for each in said)
    return "\n".join(("| What | Size | Last |", "| --- | --- | --- |", *rows))


# --- Throughput


def ingest(sizes: Mapping[str, float], corpus: Corpus) -> Table:
    """Time `ingest_stream` into a new store on disk, with a number of MB for each embedder."""
    rows = [
        _throughput(megabytes, corpus, embedder, profile)
        for embedder, megabytes in sizes.items()
        for profile in PROFILES
    ]
    return Table("ingest", rows, _INGEST_NOTE)


def _throughput(megabytes: float, corpus: Corpus, embedder: str, profile: str) -> dict[str, object]:
    progress(f"ingest: {megabytes:g} MB, {embedder}, {profile}")
    with tempfile.TemporaryDirectory() as folder:
        text = _file(Path(folder), document(megabytes, corpus))
        taken = _taken(text, embedder_of(embedder), profile)
    chunks = taken["chunks"]
    return {
        "embedder": embedder,
        "profile": profile,
        "text, MB": megabytes,
        "chunks": chunks,
        "stored": taken["stored"],
        "seconds": taken["seconds"],
        "CPU, s": taken["processor"],
        "MB per CPU s": megabytes / taken["processor"],
        "chunks per CPU s": chunks / taken["processor"],
        "last tenth ÷ first": taken["slowing"],
    }


def _taken(text: Path, embedder: Embedder, profile: str) -> dict[str, float]:
    """Ingest a file and return the measurements."""
    fates: Counter[str] = Counter()
    times = []
    path = text.with_suffix(".db")
    with (
        Memolith.open(path, embedder=embedder, profile=profile) as memory,
        open_text(str(text)) as said,
    ):
        embedder.embed(["It is loaded before it is timed."], role="document")
        started, used = perf_counter(), process_time()
        begun = used
        for part in memory.owner("reader").ingest_stream(said):
            fates.update(each.status for each in part.chunks)
            times.append((process_time() - begun) / len(part.chunks))
            begun = process_time()
        seconds, processor = perf_counter() - started, process_time() - used
    tenth = max(1, len(times) // 10)
    slowing = float(np.mean(times[-tenth:]) / np.mean(times[:tenth]))
    return {
        "chunks": fates.total(),
        "stored": fates["stored"],
        "seconds": seconds,
        "processor": processor,
        "slowing": slowing,
    }


def _file(folder: Path, pieces: Iterator[str]) -> Path:
    path = folder / "handbook.md"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(pieces)
    return path


def embedder_of(name: str) -> Embedder:
    """Return an embedder by its name in the tables."""
    return Stub() if name == "stub" else open_embedder(Settings())


_INGEST_NOTE = (
    "Synthetic Markdown, read from a file into a new store. The stub embedder returns random "
    "directions. Last tenth ÷ first: CPU time a chunk, last batches compared with the first; 1 "
    "means that a growing store costs nothing."
)


# --- Time by stage

Function = tuple[str, int, str]
Profiled = Mapping[Function, tuple[int, int, float, float, Mapping[Function, tuple[float, ...]]]]
"""Statistics of `pstats` by function: calls, primitive calls, own and cumulative seconds,
callers."""


def stages(megabytes: float, corpus: Corpus, embedders: Sequence[str]) -> Table:
    """Profile ingestion and return each stage's share."""
    rows = [
        {"embedder": embedder, "profile": profile, **_shares(megabytes, corpus, embedder, profile)}
        for embedder in embedders
        for profile in PROFILES
    ]
    return Table("ingest-stages", rows, _STAGES_NOTE)


def _shares(megabytes: float, corpus: Corpus, embedder: str, profile: str) -> dict[str, str]:
    progress(f"stages: {megabytes:g} MB, {embedder}, {profile}")
    chosen, profiler = embedder_of(embedder), cProfile.Profile()
    with tempfile.TemporaryDirectory() as folder:
        text = _file(Path(folder), document(megabytes, corpus))
        profiler.runcall(_taken, text, chosen, profile)
    stats: Profiled = pstats.Stats(profiler).stats  # type: ignore[attr-defined] # not in typeshed
    seconds = _by_stage(stats)
    whole = sum(seconds.values())
    return {f"{name}, %": f"{100 * spent / whole:.1f}" for name, spent in seconds.items()}


def _by_stage(stats: Profiled) -> dict[str, float]:
    """Return each stage's seconds, without those of stages that it calls."""
    screen = _seconds(stats, "ingest.py", "_redact")
    embed = _seconds(stats, "indexing.py", "_embed")
    index = _seconds(stats, "indexing.py", "build_entries")
    judge = _seconds(stats, "ingest.py", "score_chunks")
    judge += _seconds(stats, "ingest.py", "_build_memory")
    plan = _seconds(stats, "planning.py", "plan")
    settle = _seconds(stats, "write.py", "write")
    stages_ = {
        "clean, screen": screen,
        "cut": _seconds(stats, "ingest.py", "split") - screen,
        "index": index - embed,
        "embed": embed,
        "assess": judge - _seconds(stats, "indexing.py", "build_entries", caller="_score"),
        "decide": plan,
        "write": settle
        - plan
        - _seconds(stats, "indexing.py", "build_entries", caller="_prepare_inputs"),
    }
    whole = _seconds(stats, "ingest.py", "store_batches")
    return {**stages_, "other": whole - sum(stages_.values())}


def _seconds(stats: Profiled, file: str, name: str, *, caller: str | None = None) -> float:
    """Return the cumulative seconds of a function, optionally only for calls by one caller.

    Raises:
        LookupError: There is no such function, or it was not called.
    """
    ran = [own for at, own in stats.items() if at[0].endswith(f"services/{file}") and at[2] == name]
    if not ran:
        raise LookupError(f"{name} in {file}")
    if caller is None:
        return sum(own[3] for own in ran)
    return sum(by[3] for own in ran for at, by in own[4].items() if at[2] == caller)


_STAGES_NOTE = (
    "Shares of CPU time measured by cProfile, which overstates many small calls. Cut: chunking "
    "and token counts. Index: keywords, features, passages. Assess: kind, importance, novelty. "
    "Decide: duplicates and neighbours. Write: the transaction."
)


# --- Memory


def memory(sizes: Sequence[float]) -> Table:
    """Ingest texts in new processes, and return their peak memory."""
    rows = [_resident(size) for size in sizes]
    return Table("ingest-memory", rows, _MEMORY_NOTE)


def _resident(megabytes: float) -> dict[str, object]:
    progress(f"memory: {megabytes:g} MB")
    told = output(sys.executable, __file__, "--child", f"{megabytes}")
    return dict(json.loads(told))


def _child(megabytes: float) -> None:
    """Ingest a text and print the measurements."""
    with tempfile.TemporaryDirectory() as folder:
        text = _file(Path(folder), document(megabytes, Corpus()))
        before = _most_resident()
        taken = _taken(text, Stub(), _MEMORY_PROFILE)
        row = {
            "text, MB": megabytes,
            "chunks": taken["chunks"],
            "store, MB": text.with_suffix(".db").stat().st_size / 1e6,
            "memory before, MB": before,
            "peak memory, MB": _most_resident(),
            "CPU, s": taken["processor"],
            "last tenth ÷ first": taken["slowing"],
        }
    print(json.dumps(row))


def _most_resident() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss * _KB / 1e6


_MEMORY_NOTE = (
    "Peak resident memory (`ru_maxrss`) of a new process; stub embedder, profile "
    f"`{_MEMORY_PROFILE}`."
)


# --- Command line


def main() -> None:
    """Run the requested measurements, and show or write their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"parts to measure: {', '.join(PARTS)}")
    parser.add_argument("--megabytes", type=float, default=MEGABYTES, metavar="N")
    parser.add_argument("--model-megabytes", type=float, default=MODEL_MEGABYTES, metavar="N")
    parser.add_argument("--sizes", type=float, nargs="+", default=MEMORY_SIZES, metavar="N")
    parser.add_argument("--embedders", nargs="+", default=EMBEDDERS, choices=EMBEDDERS)
    parser.add_argument(
        "--write", type=document_of_tables, metavar="FILE", help="update the tables in FILE"
    )
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        _child(asked.child)
        return
    for name in set(asked.parts) - set(PARTS):
        parser.error(f"unknown part {name!r}; choose from {', '.join(PARTS)}")
    corpus = Corpus()
    given = {"stub": asked.megabytes, "local model": asked.model_megabytes}
    sizes = {name: given[name] for name in asked.embedders}
    measured: Mapping[str, Callable[[], Table]] = {
        "ingest": partial(ingest, sizes, corpus),
        "ingest-stages": partial(stages, asked.model_megabytes, corpus, asked.embedders),
        "ingest-memory": partial(memory, asked.sizes),
    }
    for name in asked.parts or PARTS:
        report(measured[name](), asked.write)


if __name__ == "__main__":
    main()
