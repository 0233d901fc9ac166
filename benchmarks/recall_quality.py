"""What each part of the standard ranking brings, on data sets that you name.

    make bench-recall_quality ARGS="--locomo locomo10.json --beam beam.json --cache /tmp/vectors"

Takes the policies as they are, without a store, so that leaving out every weight in turn takes a
minute once the vectors are cached. `mnemon eval` measures the whole engine instead: with a store,
quantised vectors and a token budget. That is what the gates are about.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from mnemon.adapters.embedders.local import LocalEmbedder
from mnemon.adapters.embedders.wordpiece import WordPieceCounter
from mnemon.domain.messages import Participant, Role
from mnemon.errors import InvalidInput
from mnemon.evals.conversations import Conversation, Question
from mnemon.evals.datasets import read_beam, read_jsonl, read_locomo
from mnemon.evals.runner import ALL, Answer, Recall, figures, run
from mnemon.policies.indexing import embedded_text, passage_terms, window_terms
from mnemon.policies.ranking.bm25 import bm25
from mnemon.policies.ranking.model import Candidates, Query
from mnemon.policies.ranking.selection import best, highest, log_mean_exp
from mnemon.policies.ranking.standard import StandardRanking, Weights
from mnemon.ports.embedder import Embedder, TextRole
from mnemon.ports.store import Postings
from mnemon.ports.tokens import TokenCounter
from mnemon.text.features import features
from mnemon.text.passages import passages

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Embed = Callable[[Sequence[str], TextRole], NDArray[np.float32]]

SEED = 1
DEPTH = 50
SHOWN = {
    "recall@5": "R@5",
    "recall@10": "R@10",
    "recall@20": "R@20",
    "mrr": "MRR",
    "session_recall@10": "session R@10",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """A conversation as columns: one row a message, and one a passage.

    Attributes:
        ids: External ids of the messages, shape (n,).
        participants: Who speaks, by number.
        session: Number of each message's session.
        sequence: Place in it, from 1.
        speaker: Number of the participant.
        role: As what they speak.
        at: Microseconds since 1970.
        traits: Bits of `Trait`.
        words: Word count.
        message: Which message each passage is of, shape (p,).
        vectors: Shape (p, dimension).
        lengths: In terms, shape (p,).
        postings: By term, the passages that hold it, and how often each does.
    """

    ids: Sequence[str]
    participants: Sequence[Participant]
    session: Integers
    sequence: Integers
    speaker: Integers
    role: Sequence[Role]
    at: Integers
    traits: Integers
    words: Integers
    message: Integers
    vectors: NDArray[np.float32]
    lengths: Floats
    postings: Mapping[str, tuple[Integers, Floats]]

    def neighbour(self, rows: Integers, step: int) -> Integers:
        """Return the message before or after each, in its session; −1 without one."""
        there = np.clip(rows + step, 0, len(self.ids) - 1)
        same = (there == rows + step) & (self.session[there] == self.session[rows])
        return np.where(same, there, -1)

    def keyword_scores(self, terms: Sequence[str]) -> Floats:
        """Return the BM25 score of each message's best passage."""
        none = np.empty(0, dtype=np.int64), np.empty(0)
        found = [self.postings.get(term, none) for term in terms]
        if not found:
            return np.zeros(len(self.ids))
        postings = Postings(
            passages=np.arange(len(self.message)),
            lengths=self.lengths,
            term=np.repeat(np.arange(len(found)), [len(slots) for slots, _ in found]),
            slot=np.concatenate([slots for slots, _ in found]),
            frequency=np.concatenate([often for _, often in found]),
            document_frequency=np.array([len(slots) for slots, _ in found]),
            total=len(self.message),
            mean_length=float(self.lengths.mean()),
        )
        return highest(self.message, bm25(postings), len(self.ids), 0.0)


# --- columns of a conversation ------------------------------------------------------------------


def columns(conversation: Conversation, embed: Embed, counter: TokenCounter) -> Columns:
    """Return a conversation as the engine would index it."""
    messages = tuple(conversation.messages())
    sizes = [len(session.messages) for session in conversation.sessions]
    people = list(dict.fromkeys((m.speaker, m.role or Role.USER) for m in messages))
    spans = [passages(message.content, counter) for message in messages]
    parts = [
        [(span.of(message.content), tokens) for span, tokens in cut]
        for message, cut in zip(messages, spans, strict=True)
    ]
    told = [features(message.content, tokens=0) for message in messages]
    session = np.repeat(np.arange(len(sizes)), sizes)
    texts = [
        embedded_text(message.speaker, text)
        for message, cut in zip(messages, parts, strict=True)
        for text, _ in cut
    ]
    terms = _windows([m.speaker for m in messages], parts, session)
    return Columns(
        ids=[message.external_id or "" for message in messages],
        participants=[Participant(i, name, role) for i, (name, role) in enumerate(people)],
        session=session,
        sequence=np.concatenate([np.arange(1, size + 1) for size in sizes]),
        speaker=np.array([people.index((m.speaker, m.role or Role.USER)) for m in messages]),
        role=[message.role or Role.USER for message in messages],
        at=np.array([round(m.at.timestamp() * 1e6) if m.at else 0 for m in messages]),
        traits=np.array([int(each.traits) for each in told]),
        words=np.array([each.words for each in told]),
        message=np.repeat(np.arange(len(parts)), [len(cut) for cut in parts]),
        vectors=embed(texts, "document"),
        lengths=np.array([sum(each.values()) for each in terms], dtype=np.float64),
        postings=_postings(terms),
    )


def _windows(
    speakers: Sequence[str | None],
    parts: Sequence[Sequence[tuple[str, int]]],
    session: Integers,
) -> list[Mapping[str, int]]:
    """Return the keywords of every passage, a single one's with the message before it."""
    own = [
        [passage_terms(speaker, text) for text, _ in cut]
        for speaker, cut in zip(speakers, parts, strict=True)
    ]
    windows: list[Mapping[str, int]] = []
    for row, terms in enumerate(own):
        follows = row > 0 and session[row] == session[row - 1]
        if follows and len(terms) == len(own[row - 1]) == 1:
            tokens, before = parts[row][0][1], parts[row - 1][0][1]
            windows.append(window_terms(terms[0], tokens, own[row - 1][0], before))
        else:
            windows.extend(terms)
    return windows


def _postings(terms: Sequence[Mapping[str, int]]) -> dict[str, tuple[Integers, Floats]]:
    held: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for slot, words in enumerate(terms):
        for term, often in Counter(words).items():
            held[term].append((slot, often))
    return {
        term: (np.array([s for s, _ in hits]), np.array([o for _, o in hits], dtype=np.float64))
        for term, hits in held.items()
    }


def candidates(
    of: Columns, query: Query, vector: NDArray[np.float32], pool: int
) -> tuple[Integers, Candidates]:
    """Return the union of the best of both searches: their rows, and what is scored of them."""
    size = len(of.ids)
    cosine = (of.vectors @ vector).astype(np.float64)
    similarity = log_mean_exp(of.message, cosine, size)
    nearest = highest(of.message, cosine, size, np.nan)
    text = of.keyword_scores(query.terms)
    places = np.arange(size)
    worded = best(text, places, pool)
    near = best(np.nan_to_num(nearest, nan=-1.0), places, pool)
    rows = np.union1d(near, worded[text[worded] > 0])
    before, after = of.neighbour(rows, -1), of.neighbour(rows, 1)
    return rows, Candidates(
        similarity=similarity[rows],
        best_similarity=nearest[rows],
        text=text[rows],
        next_similarity=np.where(after >= 0, similarity[after], np.nan),
        previous_text=np.where(before >= 0, text[before], 0.0),
        previous_traits=np.where(before >= 0, of.traits[before], 0),
        previous_speaker=np.where(before >= 0, of.speaker[before], -1),
        is_memory=np.zeros(len(rows), dtype=bool),
        kind=["episode"] * len(rows),
        session=of.session[rows],
        sequence=of.sequence[rows],
        speaker=of.speaker[rows],
        role=[of.role[row] for row in rows],
        at=of.at[rows],
        traits=of.traits[rows],
        words=of.words[rows],
        importance=np.ones(len(rows)),
        strength=np.ones(len(rows)),
        freshness=np.zeros(len(rows)),
        held=np.zeros(len(rows), dtype=np.int64),
    )


# --- vectors ------------------------------------------------------------------------------------


def cached(embedder: Embedder, folder: Path | None) -> Embed:
    """Return the embedder as a function that keeps its vectors in a folder, if there is one."""

    def embed(texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        if folder is None:
            return embedder.embed(texts, role=role)
        name = "\0".join([embedder.name, role, *texts]).encode()
        path = folder / f"{hashlib.blake2b(name, digest_size=12).hexdigest()}.npy"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            np.save(path, embedder.embed(texts, role=role))
        kept: NDArray[np.float32] = np.load(path)
        return kept

    return embed


# --- measuring ----------------------------------------------------------------------------------


def rankings() -> Iterator[tuple[str, StandardRanking]]:
    """Yield the default, and the default without each of its parts."""
    yield "default", StandardRanking()
    for part in fields(Weights):
        weights = replace(Weights(), **{part.name: 0.0})
        yield f"without {part.name}", StandardRanking(weights=weights)


def prepared(
    conversation: Conversation, ranking: StandardRanking, of: Columns, embed: Embed
) -> dict[Question, tuple[Query, Integers, Candidates]]:
    """Return for each question its query and its candidates; no weight changes them."""
    asked = [question for question in conversation.questions if question.evidence]
    queries = [ranking.prepare(q.text, of.participants, q.asked_at) for q in asked]
    vectors = embed([query.dense_text for query in queries], "query")
    return {
        question: (query, *candidates(of, query, vector, ranking.pool(10)))
        for question, query, vector in zip(asked, queries, vectors, strict=True)
    }


def recall_of(
    ranking: StandardRanking,
    ready: Mapping[str, Mapping[Question, tuple[Query, Integers, Candidates]]],
    indexed: Mapping[str, Columns],
    conversation: Conversation,
) -> Recall:
    """Return what answers from prepared candidates with a ranking's weights."""

    def recall(question: Question, k: int) -> Answer:
        query, rows, found = ready[conversation.id][question]
        order = np.argsort(-ranking.score(query, found).total, kind="stable")[:k]
        ids = indexed[conversation.id].ids
        return Answer([(ids[rows[place]],) for place in order], 0)

    return recall


def table(
    name: str, conversations: Sequence[Conversation], embed: Embed, counter: TokenCounter
) -> Table:
    """Measure every ranking on a data set."""
    indexed = {each.id: columns(each, embed, counter) for each in conversations}
    default = StandardRanking()
    ready = {each.id: prepared(each, default, indexed[each.id], embed) for each in conversations}
    shown = Table(title=f"{name}, percent")
    shown.add_column("ranking", no_wrap=True)
    for heading in (*SHOWN.values(), "ms to score"):
        shown.add_column(heading, justify="right")
    for label, ranking in rankings():
        outcomes = run(partial(recall_of, ranking, ready, indexed), conversations, depth=DEPTH)
        overall = figures(outcomes, np.random.default_rng(SEED))[ALL]
        means = (f"{100 * overall.measures[measure].mean:.1f}" for measure in SHOWN)
        shown.add_row(label, *means, f"{overall.ms:.2f}")
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    readers = {"locomo": read_locomo, "beam": read_beam, "jsonl": read_jsonl}
    for name in readers:
        parser.add_argument(f"--{name}", metavar="FILE", help=f"a data set in the form of {name}")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep vectors here")
    options = parser.parse_args(arguments)
    chosen = {name: path for name in readers if (path := getattr(options, name))}
    if not chosen:
        parser.error("name at least one data set; none comes with Mnemon")
    console = Console()
    embed = cached(LocalEmbedder(), options.cache)
    try:
        for name, path in chosen.items():
            console.print(table(name, readers[name](path), embed, WordPieceCounter()))
    except InvalidInput as error:
        console.print(f"[red]{error}")
        return 2
    console.print(
        f"mnemon {version('mnemon')}, numpy {np.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()} {platform.system()}, {datetime.now(UTC):%Y-%m-%d}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
