"""The ranking of profile `companion`: likeness, strength and freshness, above a floor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.ranking.bm25 import saturate
from memolith.policies.ranking.model import Query, sum_parts
from memolith.text.analysis import terms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.messages import Participant
    from memolith.policies.ranking.model import Candidates, Scores


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

    floor: float = 0.5
    similarity: float = 0.5
    strength: float = 0.2
    freshness: float = 0.3
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
