"""What every ranking policy takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memolith.domain.messages import Participant, Role

Period = tuple[int, int]
"""[start, end) in microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query, made ready for both searches and for scoring.

    Attributes:
        text: As it was asked.
        dense_text: What to embed of it; empty: nothing to embed.
        terms: What to search for by keyword, analysed, without duplicates.
        words: What to look for as parts of words where keyword search finds nothing, as written.
        keywords_only_score: Whether keywords score what a vector finds, but find nothing by
            themselves where there is a vector.
        periods: The times that it is about: the best of each are candidates too.
        looks_around: Whether `score` asks for `Candidates.around`, which takes time.
        cues: What a ranking noticed in it, for its own `score`.
    """

    text: str
    dense_text: str
    terms: tuple[str, ...]
    cues: object = None
    words: tuple[str, ...] = ()
    keywords_only_score: bool = False
    periods: tuple[Period, ...] = ()
    uses_context_window: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """Columns about the items to be scored; n rows.

    Attributes:
        similarity: log-mean-exp (temperature 10) of the cosines of its passages; NaN where it
            has no vector, or nothing was embedded.
        best_similarity: Cosine of the best passage; NaN likewise.
        text: BM25 of the best passage; 0 without a match.
        next_similarity: `similarity` of the next message of its session; NaN without one.
        previous_text: `text` of the previous message of its session; 0 without one.
        previous_traits: Bits of `Trait` of that message; 0 without one.
        previous_speaker: Its speaker's number; −1 without one.
        around: How well it and the messages near it hold the words together (see
            `ranking.surroundings`); 0 where nothing looks around.
        is_memory: Whether it is a memory (else a message).
        kind: The memory's kind, or "episode".
        session: The session's number; −1 without one (each such row is a session of its own).
        sequence: Its place in the session; 0 for a memory.
        speaker: The participant's number; −1 without one.
        role: Who spoke.
        at: When it was said or happened, microseconds since 1970, UTC.
        traits: Bits of `Trait`.
        words: Word count.
        importance: 0..1, as judged when it was stored; for a message 1.
        strength: 0..1; for a message 1.
        freshness: 0..1; for a message by when it was said.
        held: How many of the query's words it holds as parts; 0 where they were not looked for.
    """

    similarity: NDArray[np.float64]
    best_similarity: NDArray[np.float64]
    text: NDArray[np.float64]
    next_similarity: NDArray[np.float64]
    previous_text: NDArray[np.float64]
    previous_traits: NDArray[np.int64]
    previous_speaker: NDArray[np.int64]
    around: NDArray[np.float64]
    is_memory: NDArray[np.bool_]
    kind: Sequence[str]
    session: NDArray[np.int64]
    sequence: NDArray[np.int64]
    speaker: NDArray[np.int64]
    role: Sequence[Role]
    at: NDArray[np.int64]
    traits: NDArray[np.int64]
    words: NDArray[np.int64]
    importance: NDArray[np.float64]
    strength: NDArray[np.float64]
    freshness: NDArray[np.float64]
    held: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """What each candidate is worth.

    Attributes:
        total: Shape (n,); higher is better.
        parts: The terms of the total by name, each shape (n,); they add up to it.
        kept: Whether the candidate may be returned at all, shape (n,).
    """

    total: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.float64]]
    kept: NDArray[np.bool_]


def sum_parts(parts: Mapping[str, NDArray[np.float64]], kept: NDArray[np.bool_]) -> Scores:
    """Return the scores whose totals are the sums of these parts; there is at least one."""
    total: NDArray[np.float64] = np.sum(list(parts.values()), axis=0)
    return Scores(total, parts, kept)


class PostingColumns(Protocol):
    """The columns of the store's `Postings` that BM25 is computed from; see there."""

    @property
    def passages(self) -> NDArray[np.int64]:
        """Passages in scope, shape (p,)."""
        ...

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Their lengths in terms, shape (p,)."""
        ...

    @property
    def term(self) -> NDArray[np.int64]:
        """Index of the term, shape (n,)."""
        ...

    @property
    def slot(self) -> NDArray[np.int64]:
        """Index of the passage, shape (n,)."""
        ...

    @property
    def frequency(self) -> NDArray[np.float64]:
        """How often the term stands there, shape (n,)."""
        ...

    @property
    def document_frequency(self) -> NDArray[np.int64]:
        """In how many of the owner's passages each term stands, shape (terms,)."""
        ...

    @property
    def total(self) -> int:
        """How many passages the owner has."""
        ...

    @property
    def mean_length(self) -> float:
        """Their mean length in terms."""
        ...


class Ranking(Protocol):
    """A way to order results. Pure."""

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return what to search for, given who has spoken and the instant of asking."""
        ...

    def get_pool_size(self, top_k: int) -> int:
        """Return how many candidates to take from each search."""
        ...

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return what each candidate is worth to the query. Empty in, empty out."""
        ...


class Reranking(Protocol):
    """A way to take a reranker's word for how relevant candidates are. Pure."""

    def apply_scores(self, scores: Scores, reranker_scores: NDArray[np.float64]) -> Scores:
        """Return the scores of candidates with a reranker's, shape (n,), in their place."""
        ...

    def blend(self, candidates: Candidates) -> Scores:
        """Return what candidates are worth where no reranker can be had."""
        ...
