"""Rankings by cosine alone: `tiers`, and `chunks` with its reranker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.ranking.bm25 import saturate
from memolith.policies.ranking.model import Query, Scores, sum_parts
from memolith.text.analysis import terms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from memolith.domain.messages import Participant
    from memolith.policies.ranking.model import Candidates

COSINE_POOL_FACTOR = 4
"""`chunks`, section 2.3: so many times what is wanted, for what is filtered out afterwards."""

MIN_SIMILARITY = 0.3
"""`tiers`, section 8, for its own embedder."""

MIN_IMPORTANCE = 0.2
"""`chunks`, section 2.4."""


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

    similarity: float = 0.6
    text: float = 0.3
    importance: float = 0.1
    min_importance: float = MIN_IMPORTANCE

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
