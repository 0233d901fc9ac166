"""Types of the ranking policies: queries, candidates, scores, and the policy protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memolith.domain.messages import Participant, Role

Period = tuple[int, int]
"""[start, end) in microseconds since 1970, UTC."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query prepared for search and scoring.

    Attributes:
        text: The original text.
        dense_text: The text to embed; empty: do not embed.
        terms: Analysed keywords without duplicates.
        cues: Findings of a ranking about the query, for its own `score`.
        words: Words to search as substrings if keyword search finds nothing, as written.
        keywords_only_score: Whether keywords score vector matches but do not add candidates, if
            there is a vector.
        periods: Periods that the query is about; the best items of each are candidates too.
        uses_context_window: Whether `score` needs `Candidates.around`, which takes time to compute.
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
    """Columns of the items to score, n rows.

    Attributes:
        similarity: log-mean-exp (temperature 10) of the cosines of its passages; NaN without a
            vector of the item or the query.
        best_similarity: Cosine of the best passage; NaN likewise.
        text: BM25 of the best passage; 0 without a match.
        next_similarity: `similarity` of the next message in the session; NaN without one.
        previous_text: `text` of the previous message in the session; 0 without one.
        previous_traits: `Trait` bits of that message; 0 without one.
        previous_speaker: Number of its speaker; −1 without one.
        around: Joint keyword score of the item and nearby messages (see `score_windows`); 0 if the
            query does not use it.
        is_memory: Whether it is a memory (otherwise a message).
        kind: Kind of the memory, or "episode".
        session: Number of the session; −1 without one (each such row is its own session).
        sequence: Position in the session; 0 for a memory.
        speaker: Number of the participant; −1 without one.
        role: Role of the speaker.
        at: Time of the message or event, microseconds since 1970, UTC.
        traits: `Trait` bits.
        words: Number of words.
        importance: Importance at creation, 0..1; 1 for a message.
        strength: 0..1; 1 for a message.
        freshness: 0..1; for a message by its time.
        substring_words: Number of the query's `words` found as substrings; 0 without such a search.
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
    substring_words: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the candidates.

    Attributes:
        total: Shape (n,); higher is better.
        parts: Terms of the total by name, shape (n,) each; they add up to it.
        kept: Whether the candidate may be returned, shape (n,).
    """

    total: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.float64]]
    kept: NDArray[np.bool_]


def sum_parts(parts: Mapping[str, NDArray[np.float64]], kept: NDArray[np.bool_]) -> Scores:
    """Return scores with the sums of at least one part as totals."""
    total: NDArray[np.float64] = np.sum(list(parts.values()), axis=0)
    return Scores(total, parts, kept)


class PostingColumns(Protocol):
    """Columns of the store's `Postings` that BM25 needs."""

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
        """Number of occurrences of the term in the passage, shape (n,)."""
        ...

    @property
    def document_frequency(self) -> NDArray[np.int64]:
        """Number of the owner's passages with each term, shape (terms,)."""
        ...

    @property
    def total(self) -> int:
        """Number of the owner's passages."""
        ...

    @property
    def mean_length(self) -> float:
        """Their mean length in terms."""
        ...


class Ranking(Protocol):
    """Scores search results. Pure."""

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Prepare a query, given the participants of the conversations and the current time."""
        ...

    def get_pool_size(self, top_k: int) -> int:
        """Return the number of candidates to request from each search."""
        ...

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the scores of zero or more candidates."""
        ...


class Reranking(Protocol):
    """Combines scores with those of a reranker. Pure."""

    def apply_scores(self, scores: Scores, reranker_scores: NDArray[np.float64]) -> Scores:
        """Replace the scores with those of a reranker, shape (n,)."""
        ...

    def blend(self, candidates: Candidates) -> Scores:
        """Return the scores to use if the reranker is unavailable."""
        ...
