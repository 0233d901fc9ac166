"""Measure the cost of encryption: the same work on a plain and an encrypted store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from corpus import BATCH, Corpus, Filled, encrypted, filled, messages, others
from measuring import Table, Taken, in_turns, progress, ratio
from searching import QUERIES, TOP_K, Known

from memolith import Memolith

PLAIN, SEALED = "plain", "encrypted"
WRITES = 200
IMPORTS = 6
FIRST_RECALLS = 7
_OF_TEXTS, _OF_IMPORTS = 104, 105

Stores = Mapping[str, Filled]
Round = Callable[[Memolith, int], object]


def encryption(sizes: Sequence[int], corpus: Corpus) -> Table:
    """Compare time and size of a plain and an encrypted store of each size."""
    rows: list[dict[str, object]] = []
    for size in sizes:
        kept = {PLAIN: filled(size, corpus), SEALED: encrypted(size, corpus)}
        progress(f"encryption: {size:,}")
        with ExitStack() as folders:
            stores = {
                name: store.copied(Path(folders.enter_context(tempfile.TemporaryDirectory())))
                for name, store in kept.items()
            }
            measured = [_weights(stores, corpus), *_times(stores, corpus)]
        rows += [{"owner has": f"{size:,}", **row} for row in measured]
    return Table("encryption", rows, _NOTE)


def _times(stores: Stores, corpus: Corpus) -> list[dict[str, object]]:
    queries = corpus.queries(stores[PLAIN].texts, 2 * QUERIES)
    texts = corpus.texts(WRITES, stream=_OF_TEXTS)
    said = messages(corpus.texts(IMPORTS * BATCH, stream=_OF_IMPORTS))
    first = in_turns(
        FIRST_RECALLS,
        {name: partial(_first_recall, store, queries[0]) for name, store in stores.items()},
    )

    def recall(one: Memolith, number: int) -> None:
        one.recall(queries[number], owner="memories", top_k=TOP_K)

    def remember(one: Memolith, number: int) -> None:
        one.remember(texts[number], owner="memories")

    def log(one: Memolith, number: int) -> None:
        some = said[number * BATCH : (number + 1) * BATCH]
        one.log(some, owner="messages", session=f"new {number}")

    embedder = Known()
    embedder.embed([*queries, *texts, *(each.content for each in said)], role="document")
    with ExitStack() as closing:
        opened = {name: closing.enter_context(s.open(embedder)) for name, s in stores.items()}
        recalled = _rounds(opened, 2 * QUERIES, recall, unmeasured=QUERIES)
        remembered = _rounds(opened, WRITES, remember)
        logged = _rounds(opened, IMPORTS, log, unmeasured=1)
    return [
        _row("first recall, p50, ms", first, lambda t: t.wall.median * 1e3),
        _row("recall, p50, ms", recalled, lambda t: t.wall.median * 1e3),
        _row("remember, per s", remembered, lambda t: 1 / t.wall.mean),
        _row("import, messages per s", logged, lambda t: BATCH / t.wall.median),
    ]


def _rounds(
    opened: Mapping[str, Memolith], count: int, do: Round, *, unmeasured: int = 0
) -> dict[str, Taken]:
    steps = {name: partial(do, one) for name, one in opened.items()}
    return in_turns(count, steps, unmeasured=unmeasured)


def _first_recall(store: Filled, query: str, _number: int) -> None:
    with store.open(Known()) as opened:
        opened.recall(query, owner="memories", top_k=TOP_K, touch=False)


def _row(
    what: str, taken: Mapping[str, Taken], figure: Callable[[Taken], float]
) -> dict[str, object]:
    return {
        "operation": what,
        "plain": figure(taken[PLAIN]),
        "encrypted": figure(taken[SEALED]),
        "encrypted ÷ plain": ratio(taken[SEALED].cpu.over(taken[PLAIN].cpu)),
    }


def _weights(stores: Stores, corpus: Corpus) -> dict[str, object]:
    own = stores[PLAIN].texts
    more = [text for _, texts in others(stores[PLAIN], corpus) for text in texts]
    written = 2 * sum(len(text.encode()) for text in own) + sum(len(t.encode()) for t in more)
    plain, sealed = (
        round((stores[name].path.stat().st_size - written) / (2 * len(own) + len(more)))
        for name in (PLAIN, SEALED)
    )
    return {
        "operation": "bytes each beyond text",
        "plain": plain,
        "encrypted": sealed,
        "encrypted ÷ plain": f"{sealed / plain:.3g}",
    }


_NOTE = (
    f"Both stores do the same work in alternating rounds, with the lookup table: {QUERIES} "
    f"recalls after as many warm-up recalls, {WRITES} single writes, {IMPORTS - 1} imports of "
    f"{BATCH:,} messages. First recall: median of {FIRST_RECALLS} newly opened engines. Ratios "
    "are of CPU time a round, with quartiles."
)
