"""Conversations as columns, with both searches computed exactly and without a store.

Uses the real policies. Candidates are computed once and can be scored repeatedly.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memolith.domain.messages import Participant, Role
from memolith.evals.datasets import Conversation
from memolith.policies.decay import freshness
from memolith.policies.indexing import add_window_terms, build_embedded_text, count_passage_terms
from memolith.policies.ranking.model import Candidates, Query
from memolith.policies.ranking.scoring import (
    WINDOW_REACH,
    TermMatches,
    log_mean_exp,
    max_by_row,
    max_score_by_item,
    score_windows,
    select_best,
)
from memolith.ports.models import Embedder, TextRole, TokenCounter
from memolith.ports.store import Postings
from memolith.services.search import CANDIDATES_PER_PERIOD, MAX_PERIODS
from memolith.text.features import extract_features
from memolith.text.passages import passages

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Columns:
    """A conversation as columns, one row per message and one per passage.

    Attributes:
        ids: External ids of the messages, shape (n,).
        participants: Speakers by number.
        session: Number of each message's session.
        sequence: Position in the session, from 1.
        speaker: Number of the speaker.
        role: Role of the speaker.
        at: Microseconds since 1970.
        traits: Bits of `Trait`.
        words: Word count.
        message: Message of each passage, shape (p,).
        vectors: Shape (p, dimension).
        lengths: Number of terms, shape (p,).
        postings: For each term, the passages that contain it and its frequencies.
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
        """Return the message `step` places away in the session of each row, or −1."""
        neighbours = np.clip(rows + step, 0, len(self.ids) - 1)
        same = (neighbours == rows + step) & (self.session[neighbours] == self.session[rows])
        return np.where(same, neighbours, -1)

    def keyword_scores(self, terms: Sequence[str]) -> Floats:
        """Return the BM25 score of each message's best passage."""
        if not terms:
            return np.zeros(len(self.ids))
        scores = TermMatches.from_postings(self.get_postings(terms)).score_passages()
        return max_by_row(self.message, scores, len(self.ids), 0.0)

    def neighbour_scores(self, terms: Sequence[str], rows: Integers) -> Floats:
        """Return the co-occurrence score of the terms in each message and its neighbours."""
        if not terms:
            return np.zeros(len(rows))
        matches, size = TermMatches.from_postings(self.get_postings(terms)), len(self.ids)
        postings = matches.postings
        scores = max_score_by_item(
            postings.term, self.message[postings.slot], matches.scores, len(terms), size
        )
        steps = range(-WINDOW_REACH, WINDOW_REACH + 1)
        windows = np.stack([self.neighbour(rows, step) for step in steps])
        return score_windows(scores, [abs(step) for step in steps], windows)

    def get_postings(self, terms: Sequence[str]) -> Postings:
        """Return the postings of the terms; at least one term must occur."""
        none = np.empty(0, dtype=np.int64), np.empty(0)
        postings = [self.postings.get(term, none) for term in terms]
        return Postings(
            passages=np.arange(len(self.message)),
            lengths=self.lengths,
            term=np.repeat(np.arange(len(postings)), [len(slots) for slots, _ in postings]),
            slot=np.concatenate([slots for slots, _ in postings]),
            frequency=np.concatenate([often for _, often in postings]),
            document_frequency=np.array([len(slots) for slots, _ in postings]),
            total=len(self.message),
            mean_length=float(self.lengths.mean()),
        )


# --- Columns of a conversation


def columns(conversation: Conversation, embedder: Embedder, counter: TokenCounter) -> Columns:
    """Return a conversation as the engine would index it."""
    messages = tuple(conversation.messages())
    sizes = [len(session.messages) for session in conversation.sessions]
    people = list(dict.fromkeys((m.speaker, m.role or Role.USER) for m in messages))
    spans = [passages(message.content, counter) for message in messages]
    parts = [
        [(span.extract(message.content), tokens) for span, tokens in cut]
        for message, cut in zip(messages, spans, strict=True)
    ]
    features = [extract_features(message.content, tokens=0) for message in messages]
    session = np.repeat(np.arange(len(sizes)), sizes)
    texts = [
        build_embedded_text(message.speaker, text)
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
        traits=np.array([int(each.traits) for each in features]),
        words=np.array([each.words for each in features]),
        message=np.repeat(np.arange(len(parts)), [len(cut) for cut in parts]),
        vectors=embedder.embed(texts, role="document"),
        lengths=np.array([sum(each.values()) for each in terms], dtype=np.float64),
        postings=_postings(terms),
    )


def _windows(
    speakers: Sequence[str | None],
    parts: Sequence[Sequence[tuple[str, int]]],
    session: Integers,
) -> list[Mapping[str, int]]:
    """Return the keywords of every passage; single passages include the previous message."""
    passage_terms = [
        [count_passage_terms(speaker, text) for text, _ in cut]
        for speaker, cut in zip(speakers, parts, strict=True)
    ]
    windows: list[Mapping[str, int]] = []
    for row, terms in enumerate(passage_terms):
        follows = row > 0 and session[row] == session[row - 1]
        if follows and len(terms) == len(passage_terms[row - 1]) == 1:
            tokens, before = parts[row][0][1], parts[row - 1][0][1]
            windows.append(add_window_terms(terms[0], tokens, passage_terms[row - 1][0], before))
        else:
            windows.extend(terms)
    return windows


def _postings(terms: Sequence[Mapping[str, int]]) -> dict[str, tuple[Integers, Floats]]:
    hits_by_term: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for slot, words in enumerate(terms):
        for term, often in Counter(words).items():
            hits_by_term[term].append((slot, often))
    return {
        term: (np.array([s for s, _ in hits]), np.array([o for _, o in hits], dtype=np.float64))
        for term, hits in hits_by_term.items()
    }


def part(of: Columns, rows: Integers) -> Columns:
    """Return a subset of the messages, given in ascending order.

    Passages keep the keywords of the previous message, as whole sessions do.
    """
    positions = np.full(len(of.ids), -1)
    positions[rows] = np.arange(len(rows))
    is_kept = positions[of.message] >= 0
    slot = np.cumsum(is_kept) - 1
    postings = {
        term: (slot[slots[is_present]], often[is_present])
        for term, (slots, often) in of.postings.items()
        if (is_present := is_kept[slots]).any()
    }
    return Columns(
        ids=[of.ids[row] for row in rows],
        participants=of.participants,
        session=of.session[rows],
        sequence=of.sequence[rows],
        speaker=of.speaker[rows],
        role=[of.role[row] for row in rows],
        at=of.at[rows],
        traits=of.traits[rows],
        words=of.words[rows],
        message=positions[of.message[is_kept]],
        vectors=of.vectors[is_kept],
        lengths=of.lengths[is_kept],
        postings=postings,
    )


def candidates(
    of: Columns, query: Query, vector: NDArray[np.float32], pool: int, asked_at: datetime
) -> tuple[Integers, Candidates]:
    """Return what the engine scores: the best of both searches and of the requested period.

    The result has their rows and their columns.
    """
    size = len(of.ids)
    cosine = (of.vectors @ vector).astype(np.float64)
    similarity = log_mean_exp(of.message, cosine, size)
    nearest = max_by_row(of.message, cosine, size, np.nan)
    text = of.keyword_scores(query.terms)
    places = np.arange(size)
    matching = select_best(text, places, pool)
    nearest_items = select_best(np.nan_to_num(nearest, nan=-1.0), places, pool)
    items = np.concatenate(
        [nearest_items, matching[text[matching] > 0], *_best_per_period(of, query, nearest, text)]
    )
    rows = np.unique(items)
    before, after = of.neighbour(rows, -1), of.neighbour(rows, 1)
    return rows, Candidates(
        similarity=similarity[rows],
        best_similarity=nearest[rows],
        text=text[rows],
        next_similarity=np.where(after >= 0, similarity[after], np.nan),
        previous_text=np.where(before >= 0, text[before], 0.0),
        previous_traits=np.where(before >= 0, of.traits[before], 0),
        previous_speaker=np.where(before >= 0, of.speaker[before], -1),
        around=of.neighbour_scores(query.terms, rows)
        if query.uses_context_window
        else np.zeros(len(rows)),
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
        freshness=freshness((asked_at.timestamp() - of.at[rows] / 1e6) / 3_600.0),
        substring_words=np.zeros(len(rows), dtype=np.int64),
    )


def _best_per_period(
    of: Columns, query: Query, nearest: Floats, text: Floats
) -> Iterator[Integers]:
    """Yield the best of each latest period that a question names, as the engine does."""
    for first, end in sorted(query.periods)[-MAX_PERIODS:]:
        in_period = np.flatnonzero((first <= of.at) & (of.at < end))
        if len(in_period) <= CANDIDATES_PER_PERIOD:
            yield in_period
            continue
        matching = in_period[text[in_period] > 0]
        yield matching[select_best(text[matching], matching, CANDIDATES_PER_PERIOD)]
        yield in_period[
            select_best(
                np.nan_to_num(nearest[in_period], nan=-1.0), in_period, CANDIDATES_PER_PERIOD
            )
        ]


# --- Vectors


class CachedEmbedder:
    """An embedder that caches its vectors in a folder, if there is one. Implements `Embedder`."""

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        """Wrap an embedder, with an optional cache folder."""
        self._embedder = embedder
        self._folder = folder

    @property
    def name(self) -> str:
        """The name of the wrapped embedder."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._embedder.dimension

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return the vectors of texts, cached if possible."""
        if self._folder is None:
            return self._embedder.embed(texts, role=role)
        key = "\0".join([self.name, role, *texts]).encode()
        path = self._folder / f"{hashlib.blake2b(key, digest_size=12).hexdigest()}.npy"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            np.save(path, self._embedder.embed(texts, role=role))
        vectors: NDArray[np.float32] = np.load(path)
        return vectors
