"""From which similarity on texts count as near: for each embedder its own numbers.

The same two texts stand nearer to each other with one embedder than with another, so that a
threshold means something for one of them alone. What it is meant to mean is the same for all: how
often it may be wrong (`RATES`). `benchmarks/thresholds.py` finds the number that does so for an
embedder, on labelled texts (`tests/corpora/thresholds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class SimilarityThresholds:
    """Similarities, cosines of −1..1.

    Attributes:
        floor: Under which `companion` recalls nothing.
        least: Under which `tiers` recalls nothing.
        merge: Over which `companion` merges two memories.
        arbitration: From which `facts` asks an arbitrator.
        auto_merge: From which `facts` lets the new one take the old one's place.
        duplicate: Over which `tiers` does so.
    """

    floor: float
    least: float
    merge: float
    arbitration: float
    auto_merge: float
    duplicate: float


ERROR_RATES: Mapping[str, float] = MappingProxyType(
    {
        "floor": 0.05,
        "least": 0.05,
        "merge": 0.10,
        "arbitration": 0.25,
        "auto_merge": 0.01,
        "duplicate": 0.01,
    }
)
"""How often each may be wrong: the share that it lets through of what it should not.

For `floor` and `least` that is a memory that does not answer the question: one in twenty gets
past, since a missed answer is worse than a line too many. For the others it is a fact about
something else, often worded alike. Where a memory that is taken for another one is recalled no
more, one in a hundred is enough; where both texts are kept, one in ten; a call of an arbitrator
that keeps both costs no more than itself. The rates are our choice: the sources' own can't be
measured without their embedders.
"""

SOURCE_THRESHOLDS = SimilarityThresholds(
    floor=0.5, least=0.3, merge=0.85, arbitration=0.85, auto_merge=0.95, duplicate=0.85
)
"""The numbers of the source systems, for the embedders that they were made with."""

FITTED_THRESHOLDS: Mapping[str, SimilarityThresholds] = MappingProxyType(
    {
        "all-MiniLM-L6-v2": SimilarityThresholds(
            floor=0.22,
            least=0.22,
            merge=0.86,
            arbitration=0.73,
            auto_merge=0.93,
            duplicate=0.93,
        ),
    }
)
"""What the fit comes to, by the embedder's name; any other one gets the sources' numbers."""
