"""BM25 (Robertson and Zaragoza 2009) over an owner's own passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memolith.policies.ranking.model import PostingColumns

K1 = 1.2
"""Robertson's usual saturation."""
B = 1.0
"""Full length normalisation: passages are cut to a size, so that a long one is a mixed one."""
SATURATION_MIDPOINT = 6.0
"""The BM25 score that counts as one half. Measured on the labelled questions of
`tests/corpora/thresholds` in `facts`: the right answers score 7 at the median, and from 6 on the
share of questions that they come first to (0.85 among 469 memories) grows no more beyond chance;
at 1 it is 0.83."""


@dataclass(frozen=True, slots=True)
class TermMatches:
    """Where the terms of a query stand, and what each adds to the score of a passage there."""

    postings: PostingColumns
    scores: NDArray[np.float64]

    @classmethod
    def from_postings(cls, postings: PostingColumns) -> TermMatches:
        """Weigh each term where it stands."""
        return cls(postings, score_terms(postings))

    def score_passages(self) -> NDArray[np.float64]:
        """Return the BM25 score of each passage of `postings.passages`, 0 and up, shape (p,)."""
        length = len(self.postings.passages)
        scores = np.bincount(self.postings.slot, weights=self.scores, minlength=length)
        return scores.astype(np.float64, copy=False)


def score_terms(postings: PostingColumns) -> NDArray[np.float64]:
    """Return what each term adds to the score of a passage that holds it, shape (n,).

    See `rarity` for its idf.
    """
    idf = compute_idf(postings)
    mean = postings.mean_length or 1.0
    norm = K1 * (1.0 - B + B * postings.lengths / mean)
    frequency = postings.frequency
    weight: NDArray[np.float64] = (
        idf[postings.term] * frequency * (K1 + 1.0) / (frequency + norm[postings.slot])
    )
    return weight


def compute_idf(postings: PostingColumns) -> NDArray[np.float64]:
    """Return the idf of each term, above 0, shape (terms,).

    ln(1 + (N − n + ½)/(n + ½)), of the owner's own passages. As much as it adds to the score of a
    passage of mean length that holds it once.
    """
    found = postings.document_frequency.astype(np.float64)
    idf: NDArray[np.float64] = np.log1p((postings.total - found + 0.5) / (found + 0.5))
    return idf


def saturate(
    scores: NDArray[np.float64], midpoint: float = SATURATION_MIDPOINT
) -> NDArray[np.float64]:
    """Return b/(b + k) of each score b, 0 and up: 0..1, one half at k = `half_at`.

    Fixed, unlike a scale over the candidates of a query, so that scores compare between queries.
    """
    shares: NDArray[np.float64] = scores / (scores + midpoint)
    return shares
