"""Nearest-vector search: exact for few vectors, with preselection by codes for many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.index import OwnerIndex, VectorColumns
from memolith.adapters.sql.quantised_codes import (
    TRAINING_ROWS,
    approximate_scores,
    has_few_zeros,
)
from memolith.errors import InvalidInput
from memolith.policies.indexing import norms, row_products
from memolith.policies.ranking.scoring import find_run_starts

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EXACT_ROWS = TRAINING_ROWS
"""Up to this many vectors, all are compared exactly: scanning codes would save almost nothing."""

_MIN_COMPARED = 1_000
_COMPARED_PER_RESULT = 20
_COMPARED_DIVISOR = 40
"""At least 1/40 of the vectors are compared exactly: see docs/decisions/0004-sqlite-store.md."""

_MAX_CODE_ERROR = 0.3
"""Maximum error of an approximate score, below the value that the cosine implies. The largest
measured error was 0.22, for vectors of 64 to 768 dimensions: in clusters, in cones, with heavy
tails, with few large components, and from a model. Below 64 dimensions errors may be larger, so
that some results are missed."""

_COMPARE_BLOCK = 8_192
"""Rows compared at once: about 12 MB as float32."""

_SCORE_LEVELS = 4_096
"""Number of levels to which approximate scores are quantised for selecting the best."""


class QueryComparison:
    """Cosines of a query and an owner's vectors, cached once all are computed.

    The query must not be modified meanwhile.
    """

    def __init__(self, vectors: VectorColumns, query: NDArray[np.int8]) -> None:
        """Initialise with the stored vectors and the query.

        Raises:
            InvalidInput: The query has another dimension.
        """
        if len(vectors.item.view) and query.shape != (vectors.dimension,):
            problem = f"has shape {query.shape}; the store's vectors have {(vectors.dimension,)}"
            raise InvalidInput("vector", problem)
        self.query = query
        self.norm = float(norms(query[None, :])[0])
        self._vectors = vectors
        self._all: Floats | None = None

    def cosines(self, rows: Integers | None = None) -> Floats:
        """Return the cosines of rows (None: all), bit for bit as `policies.indexing.cosines`."""
        if rows is not None:
            return self._compute_cosines(rows) if self._all is None else self._all[rows]
        if self._all is None:
            self._all = self._compute_cosines(None)
        return self._all

    def _compute_cosines(self, rows: Integers | None) -> Floats:
        values, norm = self._vectors.values.view, self._vectors.norm.view
        length = len(values) if rows is None else len(rows)
        cosines = np.zeros(length)
        for start in range(0, length, _COMPARE_BLOCK):
            block = slice(start, start + _COMPARE_BLOCK)
            selected = block if rows is None else rows[block]
            products = row_products(values[selected], self.query).astype(np.float64)
            lengths = norm[selected] * self.norm
            np.divide(products, lengths, out=cosines[block], where=lengths > 0)
        return cosines


@dataclass(frozen=True, slots=True)
class NearestRequest:
    """Parameters of a nearest-item search.

    Attributes:
        limit: Maximum number of results.
        min_cosine: The minimum cosine.
        mask: The items to search; None for all.
    """

    limit: int
    min_cosine: float
    mask: Bools | None


def find_nearest(
    index: OwnerIndex, comparison: QueryComparison, request: NearestRequest
) -> Integers:
    """Return the rows of the items nearest to a query, nearest first, ties by lower row."""
    vectors = index.vectors
    if request.limit <= 0 or not len(vectors.item.view):
        return np.empty(0, dtype=np.int64)
    mask = request.mask
    allowed = None if mask is None else np.flatnonzero(mask[vectors.item.view])
    items, cosines = _find_best(index, comparison, request, allowed)
    return items[cosines >= request.min_cosine]


def _find_best(
    index: OwnerIndex,
    comparison: QueryComparison,
    request: NearestRequest,
    allowed: Integers | None,
) -> tuple[Integers, Floats]:
    vectors, limit = index.vectors, request.limit
    total = len(vectors.item.view) if allowed is None else len(allowed)
    to_compare = max(_MIN_COMPARED, _COMPARED_PER_RESULT * limit, total // _COMPARED_DIVISOR)
    # A zero query is equally near to all vectors, so the first rows win; scores can't tell.
    is_exact = total <= max(EXACT_ROWS, to_compare) or not comparison.query.any()
    codes = None if is_exact else index.shared.get_vector_codes(vectors)
    if codes is None or not (codes.is_discriminative and has_few_zeros(comparison.query)):
        return _best_items(vectors, allowed, comparison, limit)
    estimate, self_score = approximate_scores(
        codes, comparison.query, comparison.norm, len(vectors.item.view)
    )
    if allowed is not None:
        estimate = estimate[allowed]
    if request.min_cosine > -1:  # otherwise all rows qualify
        rows = np.flatnonzero(estimate >= self_score - (1 - request.min_cosine) - _MAX_CODE_ERROR)
        if len(rows) <= to_compare:
            return _best_items(vectors, _select_rows(rows, allowed), comparison, limit)
    return _find_best_by_score(
        vectors, comparison, limit, _Candidates(estimate, allowed, to_compare)
    )


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Approximate scores of the allowed rows, and how many rows to compare exactly."""

    estimate: NDArray[np.float32]
    allowed: Integers | None
    to_compare: int


def _select_rows(rows: Integers, allowed: Integers | None) -> Integers:
    return rows if allowed is None else allowed[rows]


def _find_best_by_score(
    vectors: VectorColumns, comparison: QueryComparison, limit: int, candidates: _Candidates
) -> tuple[Integers, Floats]:
    """Compare exactly only the vectors with the highest approximate scores.

    If long texts with many passages crowd out other items, more vectors are compared.
    """
    levels = _score_levels(candidates.estimate)
    counts_from_level = np.cumsum(np.bincount(levels, minlength=_SCORE_LEVELS)[::-1])[::-1]
    to_compare = candidates.to_compare
    while True:
        # The highest level with at least that many rows at or above it; all rows if there is none.
        level = np.count_nonzero(counts_from_level >= to_compare) - 1
        rows = np.flatnonzero(levels >= level)
        result = _best_items(vectors, _select_rows(rows, candidates.allowed), comparison, limit)
        if len(result[0]) == limit or len(rows) == len(levels):
            return result
        to_compare = min(4 * to_compare, len(levels))


def _score_levels(estimate: NDArray[np.float32]) -> Integers:
    """Return scores as integers from 0 to below `_SCORE_LEVELS`."""
    low, high = estimate.min(), estimate.max()
    step = (high - low) / (_SCORE_LEVELS - 1) or np.float32(1.0)
    levels: Integers = ((estimate - low) / step).astype(np.int64)
    return levels


def _best_items(
    vectors: VectorColumns, rows: Integers | None, comparison: QueryComparison, limit: int
) -> tuple[Integers, Floats]:
    """Return the items of the best of these rows, nearest first, and their cosines.

    The rows must be ascending; None means all rows.
    """
    items = vectors.item.view if rows is None else vectors.item.view[rows]
    if not len(items):
        return items.astype(np.int64), np.empty(0)
    cosines = comparison.cosines(rows)
    first = find_run_starts(items)
    best = np.maximum.reduceat(cosines, first)
    if len(best) > limit:
        cutoff = len(best) - limit
        selected = np.flatnonzero(best >= np.partition(best, cutoff)[cutoff])
        best, first = best[selected], first[selected]
    order = np.argsort(-best, kind="stable")[:limit]
    return items[first[order]].astype(np.int64), best[order]
