"""BM25 (Robertson and Zaragoza 2009) over an owner's own passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mnemon.policies.ranking.model import PostingColumns

K1 = 1.2
"""Robertson's usual saturation."""
B = 1.0
"""Full length normalisation: passages are cut to a size, so that a long one is a mixed one."""
HALF = 5.0
"""At which BM25 score a text counts as half a match: about what one rare word of the query brings
in a text of mean length. A guess."""


def bm25(postings: PostingColumns, *, k1: float = K1, b: float = B) -> NDArray[np.float64]:
    """Return the score of each passage of `postings.passages`, 0 and up, shape (p,).

    idf is ln(1 + (N − n + ½)/(n + ½)), never negative, of the owner's own passages.
    """
    found = postings.document_frequency.astype(np.float64)
    idf = np.log1p((postings.total - found + 0.5) / (found + 0.5))
    mean = postings.mean_length or 1.0
    norm = k1 * (1.0 - b + b * postings.lengths / mean)
    frequency = postings.frequency
    weight = idf[postings.term] * frequency * (k1 + 1.0) / (frequency + norm[postings.slot])
    scores = np.bincount(postings.slot, weights=weight, minlength=len(postings.passages))
    return scores.astype(np.float64, copy=False)


def as_share(score: NDArray[np.float64], half: float = HALF) -> NDArray[np.float64]:
    """Return BM25 scores as shares of a full match, 0..1: b/(b + half).

    Fixed, unlike a scale over the candidates of a query, so that scores compare between queries.
    """
    share: NDArray[np.float64] = score / (score + half)
    return share
