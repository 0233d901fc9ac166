"""The ranking of profile `companion`: likeness, strength and freshness, above a floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memolith.domain.messages import Participant
from memolith.policies.ranking.model import Candidates, Query, Scores, sum_parts
from memolith.policies.ranking.scoring import SATURATION_MIDPOINT, saturate
from memolith.text.analysis import terms
from memolith.text.lexicon import STOP_WORDS


@dataclass(frozen=True, slots=True)
class FreshnessRanking:
    """0.50·similarity + 0.20·strength + 0.30·freshness, of what is similar enough.

    A memory is as similar as its best passage. One that was never embedded, or is searched for
    by keyword alone, is judged by how well its words match instead, and has no floor.

    Attributes:
        floor: The similarity under which nothing is returned, 0..1.
        similarity: What similarity weighs.
        strength: What strength weighs.
        freshness: What freshness weighs.
        least_pool: How many candidates each search gives at least. What is fresh may outrank
            what is more similar, so that more than 4·top_k are needed: with this many, few
            owners have more above the floor. A guess.
    """

    floor: float
    similarity: float
    strength: float
    freshness: float
    min_pool: int = 200

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the query as it was asked."""
        del participants, now
        return Query(text, text, tuple(dict.fromkeys(terms(text))))

    def get_pool_size(self, top_k: int) -> int:
        """Return four times what is wanted, and at least `least_pool`."""
        return max(self.min_pool, 4 * top_k)

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the weighted sum; what is under the floor is not kept."""
        del query
        near = candidates.best_similarity
        unknown = np.isnan(near)
        likeness = np.where(unknown, saturate(candidates.text), near)
        parts = {
            "similarity": self.similarity * likeness,
            "strength": self.strength * candidates.strength,
            "freshness": self.freshness * candidates.freshness,
        }
        kept = np.where(unknown, candidates.text > 0.0, near >= self.floor)
        return sum_parts(parts, kept)


# --- The ranking of profile `facts`: vector, text and decay, each 0..1


@dataclass(frozen=True, slots=True)
class HybridRanking:
    """0.6·vector + 0.2·text + 0.2·decay.

    Vector is the cosine of the best passage, text is `saturated` BM25, decay the strength that is
    left. None is scaled by the other candidates, so that scores compare between queries.

    Attributes:
        vector: What the cosine weighs.
        text: What the keywords weigh.
        decay: What the strength weighs.
        half_at: See `saturated`.
        least_pool: How many candidates each search gives at least: so many that strength, which
            neither search looks at, can decide. A guess.
    """

    vector: float
    text: float
    decay: float
    midpoint: float = SATURATION_MIDPOINT
    min_pool: int = 200

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the query as it was asked."""
        del participants, now
        return Query(text, text, tuple(dict.fromkeys(terms(text))))

    def get_pool_size(self, top_k: int) -> int:
        """Return four times what is wanted, and at least `least_pool`."""
        return max(self.min_pool, 4 * top_k)

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the weighted sum; every candidate may be returned."""
        del query
        cosine = np.clip(np.nan_to_num(candidates.best_similarity), 0.0, 1.0)
        parts = {
            "vector": self.vector * cosine,
            "text": self.text * saturate(candidates.text, self.midpoint),
            "decay": self.decay * candidates.strength,
        }
        return sum_parts(parts, np.ones(len(cosine), dtype=bool))


# --- Rankings by cosine alone: `tiers`, and `chunks` with its reranker


COSINE_POOL_FACTOR = 4
"""`chunks`, section 2.3: so many times what is wanted, for what is filtered out afterwards."""


@dataclass(frozen=True, slots=True)
class CosineRanking:
    """Implements `Ranking`: the nearest first.

    Where nothing was embedded (keyword search is asked for), how well the words match, 0..1, takes
    the cosine's place.

    Attributes:
        least_similarity: The cosine under which nothing is returned.
        least_importance: The importance under which nothing is.
    """

    min_similarity: float = -1.0
    min_importance: float = 0.0

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the query as it was asked."""
        del participants, now
        found = tuple(dict.fromkeys(terms(text)))
        return Query(text, dense_text=text, terms=found, keywords_only_score=True)

    def get_pool_size(self, top_k: int) -> int:
        """Return four times what is wanted."""
        return COSINE_POOL_FACTOR * top_k

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the cosines."""
        del query
        near = candidates.best_similarity
        is_near = near >= self.min_similarity
        has_none = np.isnan(near)
        parts = {
            "similarity": np.where(has_none, 0.0, near),
            "text": np.where(has_none, saturate(candidates.text), 0.0),
        }
        matches = has_none & (candidates.text > 0.0)
        matters = candidates.importance >= self.min_importance
        return sum_parts(parts, (is_near | matches) & matters)


@dataclass(frozen=True, slots=True)
class ChunkReranking:
    """Implements `Reranking` (`chunks`, section 2.5).

    A cross-encoder's score replaces the cosine. Without one, cosine, keywords and importance are
    blended; the source says that they are, not how: the weights are ours.

    Attributes:
        similarity: What the cosine weighs.
        text: What the words weigh, as a share of a full match.
        importance: What the importance weighs.
        least_importance: The importance under which nothing is returned.
    """

    similarity: float
    text: float
    importance: float
    min_importance: float

    def apply_scores(self, scores: Scores, reranker_scores: NDArray[np.float64]) -> Scores:
        """Return the reranker's scores; what was to be left out still is."""
        return replace(scores, total=reranker_scores, parts={"rerank": reranker_scores})

    def blend(self, candidates: Candidates) -> Scores:
        """Return the weighted sum of cosine, keywords and importance, −0.6..1."""
        near = np.nan_to_num(candidates.best_similarity)
        parts = {
            "similarity": self.similarity * near,
            "text": self.text * saturate(candidates.text),
            "importance": self.importance * candidates.importance,
        }
        return sum_parts(parts, candidates.importance >= self.min_importance)


# --- The ranking of `timeline`: by keywords alone; no text is ever embedded


KEYWORD_POOL_FACTOR = 4
"""So many times what is wanted, for what does not fit into the budget: a guess."""

_PUNCTUATION = "?!.,;:…\"'“”„‘’«»()[]{}<>"
"""What stands around a word and is no part of it; "%" and "_" may be."""


@dataclass(frozen=True, slots=True)
class KeywordRanking:
    """Implements `Ranking`: BM25; what only holds the words as parts by how many, then newest."""

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the keywords, and the words to look for where these are found nowhere."""
        del participants, now
        found = tuple(dict.fromkeys(terms(text)))
        return Query(text, dense_text="", terms=found, words=split_query_words(text))

    def get_pool_size(self, top_k: int) -> int:
        """Return four times what is wanted."""
        return KEYWORD_POOL_FACTOR * top_k

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return BM25; of what has no keyword, the number of words it holds, and its newness."""
        del query
        by_parts = (candidates.text == 0.0) & (candidates.held > 0)
        parts = {
            "text": candidates.text,
            "held": np.where(by_parts, candidates.held, 0).astype(np.float64),
            "newness": np.where(by_parts, _rank_by_newness(candidates.at), 0.0),
        }
        return sum_parts(parts, (candidates.text > 0.0) | by_parts)


def split_query_words(text: str) -> tuple[str, ...]:
    """Return the different words of a query as they are written, but for what stands around them.

    Stop words stand in most texts and say nothing; they stay only where there is nothing else.
    """
    bare = (word.strip(_PUNCTUATION) or word for word in text.split())
    words = dict.fromkeys(word.casefold() for word in bare)
    telling = tuple(word for word in words if word not in STOP_WORDS)
    return telling or tuple(words)


def _rank_by_newness(at: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each one's place by time, as a share: over 0 for the oldest, under 1 for the newest.

    Less than one word held, so that it only decides between equals.
    """
    earlier = np.searchsorted(np.sort(at), at)
    return (earlier.astype(np.float64) + 1.0) / (len(at) + 1.0)
