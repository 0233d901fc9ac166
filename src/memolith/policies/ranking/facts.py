"""The ranking of profile `facts`: vector, text and decay, each 0..1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.ranking.bm25 import SATURATION_MIDPOINT, saturate
from memolith.policies.ranking.model import Query, sum_parts
from memolith.text.analysis import terms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.messages import Participant
    from memolith.policies.ranking.model import Candidates, Scores


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

    vector: float = 0.6
    text: float = 0.2
    decay: float = 0.2
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
