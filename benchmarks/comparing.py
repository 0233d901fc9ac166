"""Measure one peer at one store size, alternating with Memolith."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from os import getloadavg
from pathlib import Path
from time import perf_counter

import numpy as np
from corpus import BATCH, OTHERS, PER_OTHER, Corpus
from measuring import Times, progress
from numpy.typing import NDArray
from talking import PATIENCE_S, STORE, Answer, PeerFailed, Process, Program, batches, in_base64

from memolith.testing.fakes import HashingEmbedder

OWNER, OTHER, NOBODY = "memories", "other-1", "*"
"""The searched owner, another owner, and a nonexistent one whose name may act as a wildcard."""
FOUND, NEAREST = 5, 10
SEARCHES, WARMING = 200, 20
COMPARED = 100
"""Queries whose results are compared with an exact scan."""
ADDS, FIRST_ADDS = 50, 2
SEEDED_BUT = 50
"""Memories stored through the API of a peer that is otherwise filled directly."""
STARTS = 3
PHASE_S = 90.0
"""Seconds after which a phase starts no further round: slow peers are measured with fewer."""
LEAST = 5
"""Minimum number of rounds of a phase."""
NEAR_ENOUGH = 1e-4
"""Tolerance below the cosine of the tenth result, since some peers store vectors less exactly."""
_OF_ADDS = 201

Ratio = tuple[float, float, float]
"""Median, first and third quartile."""


@dataclass(frozen=True)
class Given:
    """The same texts, vectors and questions for every peer."""

    texts: list[str]
    others: Mapping[str, list[str]]
    queries: list[str]
    added: list[str]
    embedder: HashingEmbedder

    @classmethod
    def of(cls, size: int, corpus: Corpus) -> Given:
        """Build the input for a number of memories."""
        texts = corpus.texts(size)
        return cls(
            texts,
            {f"other-{n}": corpus.texts(PER_OTHER, stream=n) for n in range(1, OTHERS + 1)},
            corpus.queries(texts, WARMING + SEARCHES),
            corpus.texts(FIRST_ADDS + ADDS, stream=_OF_ADDS),
            HashingEmbedder(),
        )

    @property
    def total(self) -> int:
        """Number of memories of all owners."""
        return len(self.texts) + sum(len(each) for each in self.others.values())

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """Vectors of the searched owner."""
        return self.vectors(self.texts)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts."""
        return self.embedder.embed(texts, role="document")


@dataclass(slots=True)
class Measured:
    """Results of one peer at one size; None for values not measured (see `left_out`).

    Attributes:
        peer: Its name on the command line.
        size: Memories of the searched owner.
        version: Version of the peer.
        at: Date of the measurement.
        load: Load of the machine.
        install_mb: Size of the installation.
        left_out: Why values are missing.
        adds_a_second: Memories stored per second, in bulk.
        adds_a_processor_second: The same per second of CPU time.
        start_s: From the start of a process to its first result.
        start_ratio: `start_s` ÷ Memolith's.
        searches: Number of timed searches.
        p50_ms: Median time of a search.
        p95_ms: 95th percentile of a search.
        processor_ms: Median CPU time of a search.
        search_ratio: Search ÷ Memolith's search in the same round.
        add_ms: Median time of a single write.
        add_ratio: Write ÷ Memolith's write in the same round.
        recall: Recall@10 of the vector search.
        results: Number of results of all searches.
        others_results: How many of them belong to other owners.
        nobodys_results: Number of results for the owner `*`.
        reads_others: Whether an owner can read another owner's memory by id.
        deletes_others: Whether an owner can delete another owner's memory by id.
        bytes_each: Disk space per memory, including its text.
    """

    peer: str
    size: int
    version: str = ""
    install_mb: float | None = None
    at: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%d %H:%M}")
    load: float = field(default_factory=lambda: round(getloadavg()[0], 1))
    left_out: str = ""
    adds_a_second: float | None = None
    adds_a_processor_second: float | None = None
    start_s: float | None = None
    start_ratio: Ratio | None = None
    searches: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    processor_ms: float | None = None
    search_ratio: Ratio | None = None
    add_ms: float | None = None
    add_ratio: Ratio | None = None
    recall: float | None = None
    results: int = 0
    others_results: int | None = None
    nobodys_results: int | None = None
    reads_others: bool | None = None
    deletes_others: bool | None = None
    bytes_each: float | None = None


@dataclass(frozen=True, slots=True)
class Filled:
    """A peer with a filled store in its folder."""

    program: Program
    folder: Path


def compare(into: Measured, peer: Filled, given: Given, memolith: Filled) -> None:
    """Measure a peer with a full store, alternating with Memolith on its own copy.

    Raises:
        PeerFailed: One of them failed; earlier results are kept.
    """
    beside = Filled(memolith.program, peer.folder / "beside")
    shutil.copytree(memolith.folder / STORE, beside.folder / STORE)
    both = {"memolith": beside}
    if peer.folder != memolith.folder:
        both["peer"] = peer
    _start(into, both, given)
    _use(into, both, given)


# --- Filling


def fill(into: Measured, peer: Filled, given: Given, minutes: float) -> None:
    """Store all memories in bulk.

    If that would take hours, most are inserted directly, and only the rest is timed.

    Raises:
        PeerFailed: It failed or took too long.
    """
    progress(f"{into.peer}, {into.size:,}: filling")
    started, done, timed = perf_counter(), 0, 0
    seconds = processor = 0.0
    with Process(peer.program, peer.folder) as process:
        seeds: bool = process.ask("seeds").result
        for what, owner, texts in _everything(given, seeds=seeds):
            left = minutes * 60.0 - (perf_counter() - started)
            try:
                answer = _add(process, owner, texts, given, max(left, 1.0), what)
            except PeerFailed as failed:
                if perf_counter() - started < minutes * 60.0:
                    raise
                why = f"filling took over {minutes:g} minutes: {done:,} of {given.total:,} stored"
                raise PeerFailed(why) from failed
            done += len(texts)
            if what == "add":
                timed += len(texts)
                seconds, processor = seconds + answer.seconds, processor + answer.processor
        closing = process.ask("close", timeout_s=minutes * 60.0)
    seconds, processor = seconds + closing.seconds, processor + closing.processor
    into.adds_a_second, into.adds_a_processor_second = timed / seconds, timed / processor


def _everything(given: Given, *, seeds: bool) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the operation, owner and texts of each batch."""
    end = len(given.texts) - SEEDED_BUT
    by_doors, otherwise = (given.texts[end:], given.texts[:end]) if seeds else (given.texts, [])
    what = "seed" if seeds else "add"
    for owner, texts in (*given.others.items(), (OWNER, otherwise)):
        for batch in batches(texts, BATCH):
            yield what, owner, batch
    for batch in batches(by_doors, BATCH):
        yield "add", OWNER, batch


def _add(
    process: Process,
    owner: str,
    texts: Sequence[str],
    given: Given,
    timeout_s: float = PATIENCE_S,
    what: str = "add",
) -> Answer:
    vectors = in_base64(given.vectors(texts))
    return process.ask(what, owner=owner, texts=list(texts), vectors=vectors, timeout_s=timeout_s)


# --- Start


def _start(into: Measured, both: Mapping[str, Filled], given: Given) -> None:
    """Time new processes to their first result."""
    progress(f"{into.peer}, {into.size:,}: starting")
    taken = _rounds(
        STARTS + 1,
        {name: partial(_first_answer, each, given) for name, each in both.items()},
        unmeasured=1,
    )
    times = {name: Times([each.seconds for each in answers]) for name, answers in taken.items()}
    mine = times.get("peer", times["memolith"])
    into.start_s, into.start_ratio = mine.median, _ratio(mine, times["memolith"])


def _first_answer(each: Filled, given: Given, number: int) -> Answer:
    started = perf_counter()
    with Process(each.program, each.folder) as process:
        answer = _search(process, OWNER, given.queries[number], given)
        seconds = perf_counter() - started
        process.ask("close")
    return Answer(seconds, answer.processor, answer.result)


# --- Search, writes and isolation


def _use(into: Measured, both: Mapping[str, Filled], given: Given) -> None:
    store = both.get("peer", both["memolith"]).folder / STORE
    in_folder = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
    with ExitStack() as running:
        processes = {
            name: running.enter_context(Process(each.program, each.folder))
            for name, each in both.items()
        }
        peer = processes.get("peer", processes["memolith"])
        progress(f"{into.peer}, {into.size:,}: searching")
        _searches(into, processes, given)
        into.recall = _recall(peer, given)
        into.bytes_each = (peer.ask("weight").result or in_folder) / given.total
        progress(f"{into.peer}, {into.size:,}: adding")
        _adds(into, processes, given)
        _reaches(into, peer, given)
        peer.ask("close")


def _searches(into: Measured, processes: Mapping[str, Process], given: Given) -> None:
    taken = _rounds(
        WARMING + SEARCHES,
        {name: partial(_search_by, process, given) for name, process in processes.items()},
        unmeasured=WARMING,
    )
    mine = taken.get("peer", taken["memolith"])
    walls = {name: Times([each.seconds for each in answers]) for name, answers in taken.items()}
    times = walls.get("peer", walls["memolith"])
    own = set(given.texts)
    into.searches = len(mine)
    into.p50_ms, into.p95_ms = times.median * 1e3, times.quantile(0.95) * 1e3
    into.processor_ms = Times([each.processor for each in mine]).median * 1e3
    into.search_ratio = _ratio(times, walls["memolith"])
    into.results = sum(len(each.result) for each in mine)
    into.others_results = sum(text not in own for each in mine for text in each.result)


def _search(process: Process, owner: str, query: str, given: Given) -> Answer:
    vector = in_base64(given.vectors([query]))
    return process.ask("search", owner=owner, text=query, vectors=vector, count=FOUND)


def _search_by(process: Process, given: Given, number: int) -> Answer:
    return _search(process, OWNER, given.queries[number], given)


def _recall(process: Process, given: Given) -> float:
    """Return the share of results that are as near as the tenth of an exact scan."""
    rows = {text: row for row, text in enumerate(given.texts)}
    shares, started = [], perf_counter()
    for query in given.queries[:COMPARED]:
        (vector,) = given.vectors([query])
        asked = in_base64(vector)
        found = process.ask("nearest", owner=OWNER, text=query, vectors=asked, count=NEAREST)
        cosines = given.matrix @ vector
        least = np.partition(cosines, -NEAREST)[-NEAREST] - NEAR_ENOUGH
        near = [cosines[rows[text]] >= least for text in found.result if text in rows]
        shares.append(sum(near) / NEAREST)
        if perf_counter() - started > PHASE_S:
            break
    return float(np.mean(shares))


def _add_one(process: Process, given: Given, number: int) -> Answer:
    return _add(process, OWNER, [given.added[number]], given)


def _adds(into: Measured, processes: Mapping[str, Process], given: Given) -> None:
    taken = _rounds(
        FIRST_ADDS + ADDS,
        {name: partial(_add_one, process, given) for name, process in processes.items()},
        unmeasured=FIRST_ADDS,
    )
    walls = {name: Times([each.seconds for each in answers]) for name, answers in taken.items()}
    mine = walls.get("peer", walls["memolith"])
    into.add_ms, into.add_ratio = mine.median * 1e3, _ratio(mine, walls["memolith"])


def _reaches(into: Measured, process: Process, given: Given) -> None:
    """Try to read and delete another owner's memory."""
    into.nobodys_results = len(_search(process, NOBODY, given.queries[0], given).result)
    (one,) = _add(process, OWNER, ["Nobody else is to read this sentence."], given).result
    if process.ask("by_id").result:
        into.reads_others = process.ask("get", owner=OTHER, id=one).result is not None
        process.ask("delete", owner=OTHER, id=one)
        into.deletes_others = process.ask("get", owner=OWNER, id=one).result is None


# --- Rounds


def _rounds(
    count: int, steps: Mapping[str, Callable[[int], Answer]], *, unmeasured: int
) -> dict[str, list[Answer]]:
    """Run every step once a round until the rounds or the time of the phase are used up."""
    taken: dict[str, list[Answer]] = {name: [] for name in steps}
    started = perf_counter()
    for number in range(count):
        if number >= unmeasured + LEAST and perf_counter() - started > PHASE_S:
            break
        for name, step in steps.items():
            taken[name].append(step(number))
    return {name: answers[unmeasured:] for name, answers in taken.items()}


def _ratio(mine: Times, memoliths: Times) -> Ratio:
    over = mine.over(memoliths)
    return (over.median, *over.spread)
