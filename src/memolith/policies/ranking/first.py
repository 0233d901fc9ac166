"""Memories that need no search: which of them are recalled, and where they stand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.ranking.model import sum_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memolith.policies.ranking.model import Scores

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


def get_pinned_share(top_k: int, *, exclusive: bool) -> int:
    """Return how many may come first: half of the results, rounded up; all if nothing else may."""
    return top_k if exclusive else math.ceil(top_k / 2)


def rank_pinned(
    numbers: NDArray[np.int64], importance: Floats, by_user: Flags, exact: Flags, limit: int
) -> NDArray[np.int64]:
    """Return the places of those that come first, in order.

    What says exactly the query goes before all; what the user said before what others say of
    the user; then the most important, then the newest (the higher number).
    """
    order = np.lexsort((-numbers, -importance, ~by_user, ~exact))
    return order[:limit]


def put_pinned_first(scores: Scores, place: NDArray[np.int64]) -> Scores:
    """Return scores in which what comes first stands above all else, in its own order.

    Args:
        scores: What each candidate is worth to the query.
        place: Where each comes among those that come first, from 0, shape (n,); −1: it does not.
    """
    first = place >= 0
    if not first.any():
        return scores
    above = float(np.max(scores.total, where=~first, initial=0.0))
    parts = {name: np.where(first, 0.0, part) for name, part in scores.parts.items()}
    lead = {
        "first": np.where(first, above, 0.0),
        "place": np.where(first, 1.0 / (1.0 + np.maximum(place, 0)), 0.0),
    }
    return sum_parts(parts | lead, scores.kept | first)
