"""Rankings of the profiles `companion`, `facts`, `tiers`, `chunks` and `timeline`."""

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
    """Weighted sum of similarity, strength and freshness, above a similarity floor (`companion`).

    Similarity is that of the best passage. An item without a vector, or a keyword search, uses the
    saturated BM25 score instead, without a floor.

    Attributes:
        floor: Minimum similarity of results, 0..1.
        similarity: Weight of similarity.
        strength: Weight of strength.
        freshness: Weight of freshness.
        min_pool: Minimum number of candidates per search. Fresh items may outrank more similar
            ones, so 4·top_k is not enough; few owners have more items above the floor. A guess.
    """

    floor: float
    similarity: float
    strength: float
    freshness: float
    min_pool: int = 200

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the query unchanged."""
        del participants, now
        return Query(text, text, tuple(dict.fromkeys(terms(text))))

    def get_pool_size(self, top_k: int) -> int:
        """Return four times `top_k`, at least `min_pool`."""
        return max(self.min_pool, 4 * top_k)

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the weighted sum; items below the floor are not kept."""
        del query
        similarity = candidates.best_similarity
        unknown = np.isnan(similarity)
        likeness = np.where(unknown, saturate(candidates.text), similarity)
        parts = {
            "similarity": self.similarity * likeness,
            "strength": self.strength * candidates.strength,
            "freshness": self.freshness * candidates.freshness,
        }
        kept = np.where(unknown, candidates.text > 0.0, similarity >= self.floor)
        return sum_parts(parts, kept)


# --- `facts`


@dataclass(frozen=True, slots=True)
class HybridRanking:
    """Weighted sum of vector similarity, keywords and strength (`facts`), each 0..1.

    Vector similarity is the cosine of the best passage, keywords the saturated BM25 score. Scores
    are independent of other candidates, hence comparable between queries.

    Attributes:
        vector: Weight of the cosine.
        text: Weight of keywords.
        decay: Weight of strength.
        midpoint: See `saturate`.
        min_pool: Minimum number of candidates per search, large enough that strength can decide. A
            guess.
    """

    vector: float
    text: float
    decay: float
    midpoint: float = SATURATION_MIDPOINT
    min_pool: int = 200

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the query unchanged."""
        del participants, now
        return Query(text, text, tuple(dict.fromkeys(terms(text))))

    def get_pool_size(self, top_k: int) -> int:
        """Return four times `top_k`, at least `min_pool`."""
        return max(self.min_pool, 4 * top_k)

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the weighted sum; all candidates are kept."""
        del query
        cosine = np.clip(np.nan_to_num(candidates.best_similarity), 0.0, 1.0)
        parts = {
            "vector": self.vector * cosine,
            "text": self.text * saturate(candidates.text, self.midpoint),
            "decay": self.decay * candidates.strength,
        }
        return sum_parts(parts, np.ones(len(cosine), dtype=bool))


# --- `tiers` and `chunks`


COSINE_POOL_FACTOR = 4
"""Candidates per result (`chunks`, section 2.3), since some are filtered out later."""


@dataclass(frozen=True, slots=True)
class CosineRanking:
    """Ranks by cosine (`tiers`, `chunks`).

    Items without a vector, and keyword searches, use the saturated BM25 score instead.

    Attributes:
        min_similarity: Minimum cosine of results.
        min_importance: Minimum importance of results.
    """

    min_similarity: float = -1.0
    min_importance: float = 0.0

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the query unchanged."""
        del participants, now
        query_terms = tuple(dict.fromkeys(terms(text)))
        return Query(text, dense_text=text, terms=query_terms, keywords_only_score=True)

    def get_pool_size(self, top_k: int) -> int:
        """Return four times `top_k`."""
        return COSINE_POOL_FACTOR * top_k

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the cosines."""
        del query
        similarity = candidates.best_similarity
        is_near = similarity >= self.min_similarity
        has_none = np.isnan(similarity)
        parts = {
            "similarity": np.where(has_none, 0.0, similarity),
            "text": np.where(has_none, saturate(candidates.text), 0.0),
        }
        matches = has_none & (candidates.text > 0.0)
        is_important = candidates.importance >= self.min_importance
        return sum_parts(parts, (is_near | matches) & is_important)


@dataclass(frozen=True, slots=True)
class ChunkReranking:
    """Replaces the cosine with a cross-encoder's score (`chunks`, section 2.5).

    Without a cross-encoder, cosine, keywords and importance are blended; the source gives no
    weights, so the defaults are ours.

    Attributes:
        similarity: Weight of the cosine.
        text: Weight of keywords.
        importance: Weight of importance.
        min_importance: Minimum importance of results.
    """

    similarity: float
    text: float
    importance: float
    min_importance: float

    def apply_scores(self, scores: Scores, reranker_scores: NDArray[np.float64]) -> Scores:
        """Replace the scores with the reranker's; keep the same candidates."""
        return replace(scores, total=reranker_scores, parts={"rerank": reranker_scores})

    def blend(self, candidates: Candidates) -> Scores:
        """Return the weighted sum of cosine, keywords and importance, −0.6..1 by default."""
        similarity = np.nan_to_num(candidates.best_similarity)
        parts = {
            "similarity": self.similarity * similarity,
            "text": self.text * saturate(candidates.text),
            "importance": self.importance * candidates.importance,
        }
        return sum_parts(parts, candidates.importance >= self.min_importance)


# --- `timeline`


KEYWORD_POOL_FACTOR = 4
"""Candidates per result, since some exceed the token budget. A guess."""

_PUNCTUATION = "?!.,;:…\"'“”„‘’«»()[]{}<>"
"""Stripped from query words; "%" and "_" are kept."""


@dataclass(frozen=True, slots=True)
class KeywordRanking:
    """Ranks by BM25, then substring matches by their number, then newest first (`timeline`)."""

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the keywords, and the words for a substring search without keyword matches."""
        del participants, now
        query_terms = tuple(dict.fromkeys(terms(text)))
        return Query(text, dense_text="", terms=query_terms, words=split_query_words(text))

    def get_pool_size(self, top_k: int) -> int:
        """Return four times `top_k`."""
        return KEYWORD_POOL_FACTOR * top_k

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return BM25; for substring matches, the number of words plus recency, 0..1."""
        del query
        by_parts = (candidates.text == 0.0) & (candidates.substring_words > 0)
        parts = {
            "text": candidates.text,
            "held": np.where(by_parts, candidates.substring_words, 0).astype(np.float64),
            "newness": np.where(by_parts, _rank_by_newness(candidates.at), 0.0),
        }
        return sum_parts(parts, (candidates.text > 0.0) | by_parts)


def split_query_words(text: str) -> tuple[str, ...]:
    """Return the distinct words of a query, casefolded, without punctuation.

    Stop words are dropped, unless there are no others.
    """
    stripped = (word.strip(_PUNCTUATION) or word for word in text.split())
    words = dict.fromkeys(word.casefold() for word in stripped)
    content_words = tuple(word for word in words if word not in STOP_WORDS)
    return content_words or tuple(words)


def _rank_by_newness(at: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ranks by time, scaled to between 0 (oldest) and 1 (newest), exclusive.

    Less than one matched word, so that recency only breaks ties.
    """
    earlier = np.searchsorted(np.sort(at), at)
    return (earlier.astype(np.float64) + 1.0) / (len(at) + 1.0)
