"""Measure the throughput and memory of learning with a language model.

    make bench-learning                                             # about ten minutes
    make bench-learning ARGS="--exchanges 100 --embedders stub"     # a minute
    make bench-learning ARGS="--write docs/benchmarks.md"           # update the docs

The model is a local server that waits and then returns one fact per exchange. The worker runs in
its own process and uses the OpenAI client.
"""

from __future__ import annotations

import os

# As in speed.py: set before numpy is imported; stores are plain.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
os.environ["MEMOLITH_ENABLE_ENCRYPTION"] = "false"

# ruff: noqa: E402 - the imports read these variables

import argparse
import json
import re
import sys
import tempfile
from itertools import product
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time
from typing import Any

from corpus import Corpus
from ingesting import EMBEDDERS, embedder_of
from measuring import Table, document_of_tables, output, progress, report

from memolith import Memolith
from memolith.adapters.models.openai import OpenAIChat
from memolith.adapters.models.resilience import ResilientChat, ServiceGuard
from memolith.config import load
from memolith.demo.model_server import Asked, ModelServer, late

EXCHANGES = 500
DELAY_S = 0.2
AT_ONCE = (1, 4, 8)
OWNERS = (1, 50)
PROFILE = "standard"
_OF_LEARNING = 6_000
"""Stream of the corpus that is used for exchanges."""
_KB = 1_024
_TURN = re.compile(r"^> \[1\] user[^:]*: (.*)$", re.MULTILINE)

NOTE = (
    f"Each model call takes {DELAY_S * 1_000:g} ms and returns one fact; the maximum is parallel "
    f"calls ÷ {DELAY_S:g} s. Profile `{PROFILE}`, new store on disk, one process a row. CPU time "
    "excludes the model server. Memory is `ru_maxrss` before learning and at the end."
)


def answer(asked: Asked) -> Any:
    """Return the user's text as the only fact, after a delay.

    The last word is dropped: otherwise the vector would be known from the message.
    """
    said = _TURN.search(asked.user)
    contents = [said[1].rpartition(" ")[0]] if said else []
    facts = [{"content": each, "kind": "fact", "happened": None, "from": [1]} for each in contents]
    return late({"facts": facts}, DELAY_S)


def learning(exchanges: int, embedders: list[str]) -> Table:
    """Learn from pending exchanges with each setting, in separate processes."""
    rows = []
    with ModelServer(answer) as server:
        for name, owners, at_once in product(embedders, OWNERS, AT_ONCE):
            progress(f"learning: {name}, {owners} owners, {at_once} parallel calls")
            given = (server.openai_url, name, owners, at_once, exchanges)
            told = output(sys.executable, __file__, "--child", *map(str, given))
            rows.append(dict(json.loads(told)))
    return Table("learning", rows, NOTE)


def _child(url: str, name: str, owners: int, at_once: int, exchanges: int) -> None:
    """Learn and print the measurements."""
    model = OpenAIChat("scripted", api_key="none", base_url=url)
    env = {"MEMOLITH_CHAT__CALLS_AT_ONCE": str(at_once)}
    with (
        tempfile.TemporaryDirectory() as folder,
        Memolith.open(
            Path(folder) / "memory.db",
            profile=PROFILE,
            embedder=embedder_of(name),
            config=load(None, env | {"MEMOLITH_ENABLE_ENCRYPTION": "false"}, {}),
            chat=ResilientChat(model, ServiceGuard(max_concurrent_calls=at_once)),
            worker=False,
        ) as memory,
    ):
        said = Corpus().texts(exchanges, stream=_OF_LEARNING)
        for number, text in enumerate(said):
            memory.learn(text, "I see.", owner=f"owner {number % owners}")
        before, started, used = _most_resident(), perf_counter(), process_time()
        done = sum(each.done for each in memory.work())
        seconds, processor = perf_counter() - started, process_time() - used
    if done != exchanges:
        raise SystemExit(f"learned from only {done} of {exchanges} exchanges")
    row = {
        "embedder": name,
        "owners": owners,
        "parallel calls": at_once,
        "exchanges per s": exchanges / seconds,
        "of maximum, %": 100 * exchanges / seconds / (at_once / DELAY_S),
        "CPU, ms per exchange": 1_000 * processor / exchanges,
        "memory before, MB": before,
        "peak memory, MB": _most_resident(),
    }
    print(json.dumps(row))


def _most_resident() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss * _KB / 1e6


def main() -> None:
    """Measure, and show or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exchanges", type=int, default=EXCHANGES, metavar="N")
    parser.add_argument("--embedders", nargs="+", default=EMBEDDERS, choices=EMBEDDERS)
    parser.add_argument(
        "--write", type=document_of_tables, metavar="FILE", help="update the table in FILE"
    )
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        url, name, *numbers = asked.child
        _child(url, name, *map(int, numbers))
        return
    report(learning(asked.exchanges, asked.embedders), asked.write)


if __name__ == "__main__":
    main()
