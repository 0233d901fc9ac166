"""Scoring primitives: top-k selection, BM25, context windows and pinned memories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memolith.policies.ranking.model import PostingColumns, Scores, sum_parts

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

TEMPERATURE = 10.0
"""Temperature of the log-mean-exp over a text's passages: between mean (0) and maximum (∞).
Measured: a plain maximum favours long texts and loses nine points of recall on long answers.
"""


def select_best(
    scores: NDArray[np.float64], numbers: NDArray[np.int64], limit: int
) -> NDArray[np.int64]:
    """Return the indexes of the highest scores, highest first; ties by lower number."""
    if limit <= 0 or not len(scores):
        return np.empty(0, dtype=np.int64)
    places = np.arange(len(scores))
    if len(scores) > limit:
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= threshold)
    ranked = np.lexsort((numbers[places], -scores[places]))
    return places[ranked[:limit]]


def order_by_score(
    numbers: NDArray[np.int64], scores: NDArray[np.float64], *priorities: NDArray[np.bool_]
) -> list[int]:
    """Return all indexes by descending score; ties by lower number.

    Args:
        numbers: Item numbers, shape (n,).
        scores: Their scores, shape (n,).
        priorities: Flags that take precedence over scores, strongest first, shape (n,) each.
    """
    ranked: list[int] = np.lexsort(
        (numbers, -scores, *(~flags for flags in reversed(priorities)))
    ).tolist()
    return ranked


def find_unique(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct numbers, ascending.

    Unlike `np.unique`, it does not import numpy.ma, which takes 12 ms in a fresh process.
    """
    ascending = np.sort(numbers)
    return ascending[find_run_starts(ascending)]


def find_run_starts(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the indexes at which runs of equal numbers begin, ascending."""
    is_first = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def log_mean_exp(
    rows: NDArray[np.int64], values: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the soft maximum of the values of each row, shape (size,); NaN for an empty row.

    log(mean(exp(t·v)))/t with temperature t: between the mean and the maximum.
    """
    counts = np.bincount(rows, minlength=size)
    totals = np.bincount(rows, weights=np.exp(TEMPERATURE * values), minlength=size)
    mean = np.divide(totals, counts, out=np.full(size, np.nan), where=counts > 0)
    soft: NDArray[np.float64] = np.log(mean) / TEMPERATURE
    return soft


def max_by_row(
    rows: NDArray[np.int64], values: NDArray[np.float64], size: int, empty: float
) -> NDArray[np.float64]:
    """Return the maximum of each row, shape (size,); `empty` for an empty row."""
    maxima = np.full(size, -np.inf)
    np.maximum.at(maxima, rows, values)
    return np.where(maxima == -np.inf, empty, maxima)


# --- BM25 (Robertson and Zaragoza 2009) over an owner's passages


K1 = 1.2
"""Term saturation, Robertson's usual value."""
B = 1.0
"""Full length normalisation: passages have a maximum size, and long passages mix subjects."""
SATURATION_MIDPOINT = 6.0
"""The BM25 score that maps to one half. Measured on the labelled questions of
`tests/corpora/thresholds` with `facts`: the median score of correct answers is 7. The share of
questions with the correct answer first (0.85 among 469 memories) does not grow from 6 on; at 1 it
is 0.83.
"""


@dataclass(frozen=True, slots=True)
class TermMatches:
    """Occurrences of the query terms, and the score that each adds to its passage."""

    postings: PostingColumns
    scores: NDArray[np.float64]

    @classmethod
    def from_postings(cls, postings: PostingColumns) -> TermMatches:
        """Score each occurrence."""
        return cls(postings, score_terms(postings))

    def score_passages(self) -> NDArray[np.float64]:
        """Return the BM25 score of each passage of `postings.passages`, at least 0, shape (p,)."""
        length = len(self.postings.passages)
        scores = np.bincount(self.postings.slot, weights=self.scores, minlength=length)
        return scores.astype(np.float64, copy=False)


def score_terms(postings: PostingColumns) -> NDArray[np.float64]:
    """Return the BM25 score that each occurrence adds to its passage, shape (n,)."""
    idf = compute_idf(postings)
    mean = postings.mean_length or 1.0
    norm = K1 * (1.0 - B + B * postings.lengths / mean)
    frequency = postings.frequency
    weight: NDArray[np.float64] = (
        idf[postings.term] * frequency * (K1 + 1.0) / (frequency + norm[postings.slot])
    )
    return weight


def compute_idf(postings: PostingColumns) -> NDArray[np.float64]:
    """Return the inverse document frequency of each term, above 0, shape (terms,).

    ln(1 + (N − n + ½)/(n + ½)) over the owner's passages. It is also the score of one occurrence in
    a passage of mean length.
    """
    frequency = postings.document_frequency.astype(np.float64)
    idf: NDArray[np.float64] = np.log1p((postings.total - frequency + 0.5) / (frequency + 0.5))
    return idf


def saturate(
    scores: NDArray[np.float64], midpoint: float = SATURATION_MIDPOINT
) -> NDArray[np.float64]:
    """Return b/(b + midpoint) for each score b ≥ 0: 0..1, one half at `midpoint`.

    Independent of other candidates, so that scores of different queries are comparable.
    """
    shares: NDArray[np.float64] = scores / (scores + midpoint)
    return shares


# --- Context windows


WINDOW_REACH = 2
"""Number of messages before and after that are nearby. Measured: 1 gives half the gain, 3 no more.

"""

WINDOW_DECAY = 0.8
"""Factor per step of distance. Measured: values from 0.6 to 1 are equivalent."""


def max_score_by_item(
    term: Integers, item: Integers, score: Floats, terms: int, items: int
) -> NDArray[np.float64]:
    """Return each term's score in each item's best passage, shape (terms, items).

    Args:
        term: Index of the term, shape (n,).
        item: Index of the item, shape (n,).
        score: Score of the occurrence, at least 0, shape (n,).
        terms: Number of terms.
        items: Number of items.
    """
    best = np.zeros(terms * items)
    np.maximum.at(best, term * items + item, score)
    return best.reshape(terms, items)


def score_windows(scores: Floats, steps: Sequence[int], neighbours: Integers) -> Floats:
    """Return the joint keyword score of each item and nearby items, shape (n,).

    Args:
        scores: Each term's score in each item, shape (terms, items).
        steps: Distance of each row of `neighbours`, shape (k,).
        neighbours: Indexes of nearby items, −1 for none, shape (k, n); the items themselves at
            distance 0.
    """
    none = np.zeros((len(scores), 1))
    padded = np.concatenate([scores, none], axis=1)  # the last column is for −1
    decay = np.array([WINDOW_DECAY**each for each in steps])
    total: Floats = (decay[:, None] * padded[:, neighbours]).max(axis=1).sum(axis=0)
    return total


# --- Pinned memories


def get_pinned_share(top_k: int, *, exclusive: bool) -> int:
    """Return the maximum number of pinned results: half, rounded up, or all if `exclusive`."""
    return top_k if exclusive else math.ceil(top_k / 2)


def rank_pinned(
    numbers: NDArray[np.int64], importance: Floats, by_user: Flags, exact: Flags, limit: int
) -> NDArray[np.int64]:
    """Return the indexes of the pinned memories, in order.

    Exact matches of the query come first, then statements of the user before claims of others, then
    the most important, then the newest (the highest number).
    """
    ranked = np.lexsort((-numbers, -importance, ~by_user, ~exact))
    return ranked[:limit]


def put_pinned_first(scores: Scores, place: NDArray[np.int64]) -> Scores:
    """Return scores that place pinned items before all others, in their own order.

    Args:
        scores: The scores.
        place: Rank of each pinned item, from 0, shape (n,); −1 for others.
    """
    first = place >= 0
    if not first.any():
        return scores
    above = float(np.max(scores.total, where=~first, initial=0.0))
    parts = {name: np.where(first, 0.0, part) for name, part in scores.parts.items()}
    offsets = {
        "first": np.where(first, above, 0.0),
        "place": np.where(first, 1.0 / (1.0 + np.maximum(place, 0)), 0.0),
    }
    return sum_parts(parts | offsets, scores.kept | first)
