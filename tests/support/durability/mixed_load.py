"""Load test of one store with many processes and threads: throughput, errors and lost writes.

PYTHONPATH=src:tests python -m support.durability.mixed_load memory.db
PYTHONPATH=src:tests python -m support.durability.mixed_load postgresql://… --seconds 120
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import numpy as np

from memolith import Memolith
from memolith.errors import MemolithError
from support.durability.write_log import Stored, everything
from support.processes import started
from support.random_words import Words
from support.stores import PLAIN, opened

READS = ("recall", "context")

_VOCABULARY = 2_000
"""Number of words; every process caches their vectors."""

_SHOWN = ("of", "count", "per s", "p50 ms", "p99 ms", "longest ms")


class Load(msgspec.Struct, frozen=True):
    """Parameters of a load test.

    Attributes:
        store: File, or URL of a database.
        processes: Number of processes.
        threads: Threads per process.
        owners: Number of owners that all threads use.
        seconds: Duration.
        key: See `opened`.
        seed: Seed of the calls.
    """

    store: str
    processes: int = 4
    threads: int = 8
    owners: int = 200
    seconds: float = 120.0
    key: str = PLAIN
    seed: int = 1


class Part(msgspec.Struct):
    """Result of one or more threads.

    Attributes:
        took_s: Durations of calls, by kind.
        errors: Number of failed calls, by message.
        kept: Records stored and not removed.
    """

    took_s: dict[str, list[float]] = {}
    errors: dict[str, int] = {}
    kept: Stored = {}


@dataclass(slots=True)
class User:
    """A thread with random calls on memories that it created."""

    memory: Memolith
    owners: int
    random: random.Random
    words: Sequence[str]
    took_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: Counter[str] = field(default_factory=Counter)
    kept: Stored = field(default_factory=lambda: defaultdict(dict))

    def use(self, until: float) -> None:
        """Make calls until a time; record errors."""
        ways: dict[Callable[[str], None], int] = {
            self.remember: 20,
            self.learn: 15,
            self.update: 10,
            self.forget: 5,
            self.recall: 35,
            self.context: 15,
        }
        while time.monotonic() < until:
            (way,) = self.random.choices([*ways], [*ways.values()])
            owner = f"owner {self.random.randrange(self.owners):03}"
            start = time.monotonic()
            try:
                way(owner)
            except MemolithError as error:
                self.errors[f"{way.__name__}: {type(error).__name__}: {error}"] += 1
            self.took_s[way.__name__].append(time.monotonic() - start)

    def remember(self, owner: str) -> None:
        kept = self.memory.remember(self._text(), owner=owner)
        self.kept[owner][kept.id] = kept.content

    def learn(self, owner: str) -> None:
        session = f"session {self.random.randrange(3)}"
        self.memory.learn(f"I like {self._text()}.", self._text(), owner=owner, session=session)

    def update(self, owner: str) -> None:
        own = self.kept[owner]
        if not own:
            self.remember(owner)
            return
        id_ = self.random.choice([*own])
        own[id_] = self.memory.update(id_, self._text(), owner=owner).content

    def forget(self, owner: str) -> None:
        own = self.kept[owner]
        if not own:
            self.remember(owner)
            return
        id_ = self.random.choice([*own])
        self.memory.forget(id_, owner=owner)
        del own[id_]

    def recall(self, owner: str) -> None:
        self.memory.recall(self._text(3), owner=owner)

    def context(self, owner: str) -> None:
        self.memory.context(self._text(3), owner=owner)

    def _text(self, length: int = 8) -> str:
        return " ".join(self.random.choices(self.words, k=length))


def use(encoded: bytes, telling: Connection) -> None:
    """Use a store in one process; start on a signal, and report the result."""
    load, number = msgspec.json.decode(encoded, type=tuple[Load, int])
    words = Words(0)
    vocabulary = [words.word() for _ in range(_VOCABULARY)]
    with opened(load.store, load.key) as memory:
        telling.send(0)
        telling.recv()
        until = time.monotonic() + load.seconds
        users = [
            User(memory, load.owners, _random(load.seed, number, thread), vocabulary)
            for thread in range(load.threads)
        ]
        with ThreadPoolExecutor(load.threads) as threads:
            list(threads.map(lambda user: user.use(until), users))
    parts = [Part(dict(each.took_s), dict(each.errors), dict(each.kept)) for each in users]
    telling.send(msgspec.json.encode(together(parts)))


def _random(*numbers: int) -> random.Random:
    return random.Random("/".join(map(str, numbers)))  # noqa: S311 - reproducible


def together(parts: Sequence[Part]) -> Part:
    """Return the combined result of several threads or processes."""
    all_ = Part(defaultdict(list), Counter(), defaultdict(dict))
    for part in parts:
        for name, took_s in part.took_s.items():
            all_.took_s[name] += took_s
        for error, count in part.errors.items():
            all_.errors[error] = all_.errors.get(error, 0) + count
        for owner, kept in part.kept.items():
            all_.kept[owner] |= kept
    return all_


def run(load: Load) -> Part:
    """Run processes that use a store concurrently."""
    opened(load.store, load.key).close()
    running = [
        started(use, msgspec.json.encode((load, number))) for number in range(load.processes)
    ]
    for each in running:
        each.telling.send(0)
    parts = []
    for each in running:
        with closing(each.telling):
            told: Any = each.telling.recv()
            parts.append(msgspec.json.decode(told, type=Part))
        each.process.join()
        assert each.process.exitcode == 0
    return together(parts)


def lost(load: Load, part: Part) -> list[str]:
    """Return missing or changed records of a store, and the findings of `verify`."""
    with opened(load.store, load.key) as memory:
        stored = everything(memory)
        wrong = [
            f"{id_} of {owner} differs from the acknowledged record"
            for owner, kept in part.kept.items()
            for id_, content in kept.items()
            if stored.get(owner, {}).get(id_) != content
        ]
        return wrong + [str(finding) for finding in memory.verify().findings]


def rows(part: Part, seconds: float) -> list[list[str]]:
    """Return the durations of calls as rows."""
    of_reads = [each for name in READS for each in part.took_s.get(name, ())]
    of_writes = [
        each for name, took_s in part.took_s.items() if name not in READS for each in took_s
    ]
    kinds = {"reads": of_reads, "writes": of_writes} | dict(sorted(part.took_s.items()))
    return [
        [name, f"{len(took_s):,}", f"{len(took_s) / seconds:,.0f}", *_quantiles(took_s)]
        for name, took_s in kinds.items()
        if took_s
    ]


def _quantiles(took_s: Sequence[float]) -> list[str]:
    values = np.array(took_s) * 1000
    return [f"{np.quantile(values, share):,.1f}" for share in (0.5, 0.99, 1.0)]


def table(part: Part, load: Load) -> list[str]:
    """Return the result as lines of text."""
    lines = [[*_SHOWN], *rows(part, load.seconds)]
    return [f"{line[0]:<10}" + "".join(f"{each:>12}" for each in line[1:]) for line in lines] + [
        f"{count} × {error}" for error, count in part.errors.items()
    ]


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", help="file, or URL of a database; preferably an empty one")
    for name in ("processes", "threads", "owners"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Load(""), name))
    parser.add_argument("--seconds", type=float, default=120.0)
    load = Load(**vars(parser.parse_args()))
    part = run(load)
    print("\n".join(table(part, load)))  # noqa: T201 - output of the program
    print("\n".join(lost(load, part)) or "nothing was lost, and `verify` reports no findings")  # noqa: T201


if __name__ == "__main__":
    _main()
