"""Choosing the best of many scores, the same way every time."""

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
"""Of the log-mean-exp over a text's passages: between mean (0) and maximum (∞). Measured: a
plain maximum rewards long texts, and loses nine points of recall on long answers."""


def select_best(
    scores: NDArray[np.float64], numbers: NDArray[np.int64], limit: int
) -> NDArray[np.int64]:
    """Return the places of the highest scores, highest first; ties to the lower number."""
    if limit <= 0 or not len(scores):
        return np.empty(0, dtype=np.int64)
    places = np.arange(len(scores))
    if len(scores) > limit:
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= threshold)
    order = np.lexsort((numbers[places], -scores[places]))
    return places[order[:limit]]


def order_by_score(
    numbers: NDArray[np.int64], scores: NDArray[np.float64], *priorities: NDArray[np.bool_]
) -> list[int]:
    """Return all places, the highest score first; ties to the lower number.

    Args:
        numbers: Of the items, shape (n,).
        scores: Theirs, shape (n,).
        before: What goes before any score, the strongest first, shape (n,) each.
    """
    order: list[int] = np.lexsort(
        (numbers, -scores, *(~flags for flags in reversed(priorities)))
    ).tolist()
    return order


def find_unique(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different numbers, ascending.

    `np.unique` does the same, but loads numpy.ma at its first use: 12 ms of a fresh process.
    """
    ascending = np.sort(numbers)
    return ascending[find_run_starts(ascending)]


def find_run_starts(numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the places where a run of equal numbers begins, ascending."""
    is_first = np.ones(len(numbers), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def log_mean_exp(
    rows: NDArray[np.int64], values: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the soft maximum of the values of each row, shape (size,); NaN for a row of none.

    log(mean(exp(t·v)))/t with t the temperature: between the mean and the maximum.
    """
    counts = np.bincount(rows, minlength=size)
    sums = np.bincount(rows, weights=np.exp(TEMPERATURE * values), minlength=size)
    mean = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    soft: NDArray[np.float64] = np.log(mean) / TEMPERATURE
    return soft


def max_by_row(
    rows: NDArray[np.int64], values: NDArray[np.float64], size: int, empty: float
) -> NDArray[np.float64]:
    """Return the highest value of each row, shape (size,); `empty` for a row of none."""
    tops = np.full(size, -np.inf)
    np.maximum.at(tops, rows, values)
    return np.where(tops == -np.inf, empty, tops)


# --- BM25 (Robertson and Zaragoza 2009) over an owner's own passages


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


# --- How well a message and those near it hold the words of a question together


WINDOW_REACH = 2
"""How many messages before and after are near. Measured: 1 gives half the gain, 3 no more."""

WINDOW_DECAY = 0.8
"""What a term counts for each step away. Measured: 0.6 to 1 are alike."""


def max_score_by_item(
    term: Integers, item: Integers, score: Floats, terms: int, items: int
) -> NDArray[np.float64]:
    """Return each term's score in each item, that of its best passage, shape (terms, items).

    Args:
        term: Which term stands there, shape (n,).
        item: In which item, shape (n,).
        score: What it is worth there, 0 and up, shape (n,).
        terms: How many terms there are.
        items: How many items.
    """
    held = np.zeros(terms * items)
    np.maximum.at(held, term * items + item, score)
    return held.reshape(terms, items)


def score_windows(held: Floats, steps: Sequence[int], neighbours: Integers) -> Floats:
    """Return how well each item and those near it hold the terms, shape (n,).

    Args:
        held: Each term's score in each item, shape (terms, items).
        steps: How far away each row of `near` is, shape (k,).
        near: Which item that is for each, −1: there is none; shape (k, n), and the items
            themselves at 0 steps among them.
    """
    none = np.zeros((len(held), 1))
    padded = np.concatenate([held, none], axis=1)  # the last column is that of −1
    decay = np.array([WINDOW_DECAY**each for each in steps])
    total: Floats = (decay[:, None] * padded[:, neighbours]).max(axis=1).sum(axis=0)
    return total


# --- Memories that need no search: which of them are recalled, and where they stand


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
