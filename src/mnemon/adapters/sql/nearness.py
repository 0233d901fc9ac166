"""The nearest vectors: exactly where they are few, by their signs first where they are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mnemon.adapters.sql.columns import signs
from mnemon.errors import InvalidInput
from mnemon.policies.vectors import norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mnemon.adapters.sql.columns import VectorColumns

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

EXACT_ROWS = 4_096
"""Up to so many vectors all are compared exactly: there the coarse scan saves nothing."""

_RESCORED = 2_000
_RESCORED_PER_RESULT = 40
_RESCORED_SHARE = 40
"""At least every 40th vector is compared exactly: see docs/decisions/0004-sqlite-store.md."""

_BLOCK = 16_384
"""Rows a block of the coarse scan: its buffers stay in the second-level cache."""


def cosines_of(vectors: VectorColumns, rows: Integers | None, query: NDArray[np.int8]) -> Floats:
    """Return what `policies.vectors.cosines` gives for these rows (None: all), to the bit."""
    _check_length(vectors, query)
    values, norm = vectors.values.view, vectors.norm.view
    if rows is not None:
        values, norm = values.take(rows, axis=0), norm[rows]
    if not len(values):
        return np.empty(0)
    products = values.astype(np.float32) @ query.astype(np.float32)
    lengths = norm * norms(query[None, :])[0]
    cosines = np.zeros(len(lengths))
    np.divide(products.astype(np.float64), lengths, out=cosines, where=lengths > 0)
    return cosines


def nearest(
    vectors: VectorColumns, query: NDArray[np.int8], limit: int, mask: Bools | None
) -> Integers:
    """Return the rows of the items nearest to a query, nearest first, ties by lower row.

    Args:
        mask: Which items may be among them; None for all.
    """
    _check_length(vectors, query)
    if limit <= 0 or not len(vectors.item.view):
        return np.empty(0, dtype=np.int64)
    allowed = None if mask is None else mask[vectors.item.view]
    total = len(vectors.item.view) if allowed is None else int(allowed.sum())
    wanted = max(_RESCORED, _RESCORED_PER_RESULT * limit, total // _RESCORED_SHARE)
    if total <= max(EXACT_ROWS, wanted):
        rows = None if allowed is None else np.flatnonzero(allowed)
        return _best_items(vectors, rows, query, limit)
    return _by_signs(vectors, query, limit, allowed, wanted, total)


def _check_length(vectors: VectorColumns, query: NDArray[np.int8]) -> None:
    if len(vectors.item.view) and query.shape != (vectors.dimension,):
        problem = f"has shape {query.shape}; the store's vectors have {(vectors.dimension,)}"
        raise InvalidInput("vector", problem)


def _by_signs(
    vectors: VectorColumns,
    query: NDArray[np.int8],
    limit: int,
    allowed: Bools | None,
    wanted: int,
    total: int,
) -> Integers:
    """Compare exactly only the vectors whose signs differ least from the query's.

    Where long texts with many passages crowd out the rest, more are compared.
    """
    distances = _sign_distances(vectors, query)
    if allowed is not None:
        distances[~allowed] = vectors.dimension + 1
    within = np.cumsum(np.bincount(distances))
    while True:
        rows = np.flatnonzero(distances <= np.searchsorted(within, wanted))
        found = _best_items(vectors, rows, query, limit)
        if len(found) == limit or len(rows) >= total:
            return found
        wanted = min(4 * wanted, total)


def _sign_distances(vectors: VectorColumns, query: NDArray[np.int8]) -> NDArray[np.uint16]:
    """Return in how many components' signs each vector differs from the query."""
    words, sought = vectors.signs.view, signs(query[None, :])[:, 0]
    length = words.shape[1]
    distances = np.zeros(length, dtype=np.uint16)
    differing = np.empty(min(_BLOCK, length), dtype=np.uint64)
    counts = np.empty(min(_BLOCK, length), dtype=np.uint8)
    for start in range(0, length, _BLOCK):
        block = distances[start : start + _BLOCK]
        differs, count = differing[: len(block)], counts[: len(block)]
        for word, target in zip(words, sought, strict=True):
            np.bitwise_xor(word[start : start + _BLOCK], target, out=differs)
            np.bitwise_count(differs, out=count)
            block += count
    return distances


def _best_items(
    vectors: VectorColumns, rows: Integers | None, query: NDArray[np.int8], limit: int
) -> Integers:
    """Return the items of the best of these rows (ascending; None: all), nearest first."""
    items = vectors.item.view if rows is None else vectors.item.view[rows]
    if not len(items):
        return items.astype(np.int64)
    cosines = cosines_of(vectors, rows, query)
    first = np.flatnonzero(np.diff(items, prepend=-1))
    best = np.maximum.reduceat(cosines, first)
    items = items[first].astype(np.int64)
    if len(items) > limit:
        kept = np.flatnonzero(best >= -np.partition(-best, limit - 1)[limit - 1])
        best, items = best[kept], items[kept]
    return items[np.argsort(-best, kind="stable")[:limit]]
