"""Measure single writes and imports."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
from corpus import BATCH, Corpus, filled, messages
from measuring import Step, Table, Taken, in_turns, progress, ratio
from searching import Known

from memolith import Memolith
from memolith.bootstrap import open_counter, open_embedder
from memolith.config import Settings
from memolith.ports.models import Embedder
from memolith.testing.fakes import WordCounter

WRITES = 200
UNMEASURED = 20
"""Warm-up writes: the first ones initialise text analysis."""
BAR_WRITES = 300.0
IMPORT_ROUNDS = 5
EMBEDDED_BATCH = 256
"""Messages per batch of an import, as in `memolith import`."""
BAR_IMPORT = 400
BAR_OVERHEAD = 15
_OF_TEXTS, _OF_REPLIES, _OF_IMPORTS = 101, 102, 103


def writes(sizes: Sequence[int], corpus: Corpus) -> Table:
    """Time durable single writes, alternating with a bare insert."""
    rows = []
    for size in sizes:
        progress(f"writes: {size:,}")
        with tempfile.TemporaryDirectory() as folder:
            rows += _writes(size, corpus, Path(folder))
    return Table("writes", rows, _WRITES_NOTE)


def _writes(size: int, corpus: Corpus, folder: Path) -> list[dict[str, object]]:
    store, embedder = filled(size, corpus).copied(folder), Known()
    texts = corpus.texts(WRITES + UNMEASURED, stream=_OF_TEXTS)
    said = corpus.texts(WRITES + UNMEASURED, stream=_OF_REPLIES)
    embedder.embed([*texts, *said], role="document")
    with store.open(embedder) as opened, closing(_bare_table(folder / "bare.db")) as bare:
        kept, heard = opened.owner("memories"), opened.owner("messages")
        opened.recall("What is there?", owner="memories")
        opened.recall("What is there?", owner="messages")
        steps: dict[str, Step] = {
            "remember": lambda n: kept.remember(texts[n]),
            "learn": lambda n: heard.learn(texts[n], said[n], session="new"),
            "bare insert": lambda n: bare.execute("INSERT INTO bare VALUES (?)", (texts[n],)),
        }
        taken = in_turns(WRITES + UNMEASURED, steps, unmeasured=UNMEASURED)
    least = taken["bare insert"]
    return [
        {
            "operation": f"{name}, at {size:,}",
            "target, per s": BAR_WRITES,
            "per s": 1.0 / taken[name].wall.mean,
            "per CPU s": 1.0 / taken[name].cpu.mean,
            "p50, ms": taken[name].wall.median * 1e3,
            "p95, ms": taken[name].wall.quantile(0.95) * 1e3,
            "SQL insert: p50, ms": least.wall.median * 1e3,
            "p50 ÷ insert": ratio(taken[name].wall.over(least.wall)),
        }
        for name in ("remember", "learn")
    ]


def _bare_table(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bare (text TEXT)")
    return connection


_WRITES_NOTE = (
    f"{WRITES} sequential writes in one thread, with the lookup table, after {UNMEASURED} warm-up "
    "writes. `remember` stores one memory; `learn` stores two messages and extracts memories. "
    "The baseline inserts one row of the same text with the same durability."
)


# --- Import


def imports(corpus: Corpus) -> Table:
    """Time `log` of many messages, alternating with the bare embedder on the same texts."""
    progress("import: with the lookup table")
    stub = _import_times(corpus, Known(), BATCH, lookup=True)
    progress("import: with the model")
    model = _import_times(corpus, open_embedder(Settings()), EMBEDDED_BATCH, lookup=False)
    overhead = (model["log"].cpu.over(model["embed"].cpu).median - 1.0) * 100.0
    rows = [
        {"embedder": "lookup table", "target": "–", **_rates(stub, BATCH), "overhead, %": "–"},
        {
            "embedder": "local model",
            "target": f"{BAR_IMPORT} per s, {BAR_OVERHEAD} %",
            **_rates(model, EMBEDDED_BATCH),
            "overhead, %": overhead,
        },
    ]
    return Table("imports", rows, _IMPORTS_NOTE)


def _rates(taken: dict[str, Taken], batch: int) -> dict[str, float]:
    log, embed = taken["log"], taken["embed"]
    return {
        "messages per s": batch / log.wall.median,
        "per CPU s": batch / log.cpu.median,
        "embedder alone: per s": batch / embed.wall.median,
        "embedder alone: per CPU s": batch / embed.cpu.median,
    }


def _import_times(
    corpus: Corpus, embedder: Embedder, batch: int, *, lookup: bool
) -> dict[str, Taken]:
    texts = corpus.texts((IMPORT_ROUNDS + 1) * batch, stream=_OF_IMPORTS)
    batches = [texts[start : start + batch] for start in range(0, len(texts), batch)]
    if lookup:
        embedder.embed(texts, role="document")
    tokens = WordCounter() if lookup else open_counter(Settings())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "import.db"
        with Memolith.open(path, embedder=embedder, tokens=tokens) as opened:
            owner = opened.owner("importer")
            steps: dict[str, Step] = {
                "embed": lambda n: embedder.embed(batches[n], role="document"),
                "log": lambda n: owner.log(messages(batches[n]), session=f"session {n}"),
            }
            return in_turns(len(batches), steps, unmeasured=1)


_IMPORTS_NOTE = (
    f"`log` of {BATCH:,} messages a call with the lookup table, {EMBEDDED_BATCH} with the model; "
    "16 words or 25 word pieces a message on average, with learning. Overhead: additional CPU "
    "time compared with the embedder alone, which uses two threads in both. Medians of five."
)
