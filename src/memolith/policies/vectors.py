"""Vectors as they are stored and compared: int8, so that a cosine is exact arithmetic.

A vector is scaled so that its largest component is ±127, and rounded. The scale is not kept: a
cosine does not depend on it. The products of two such vectors add up to less than 2**24 for up
to 1,040 dimensions, so that a float32 matrix product is exact in whatever order it adds, and
every store, on every machine, in a batch or alone, computes the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_COMPONENT = 127

_NORMALISE_BLOCK_ROWS = 4_096
"""Vectors brought to length 1 at once: this many of 384 dimensions take some 12 MB."""


def quantise(vectors: NDArray[np.floating]) -> NDArray[np.int8]:
    """Return vectors as they are stored, shape (n, d) or (d,); all-zero ones stay so."""
    values = np.asarray(vectors, dtype=np.float64)
    top = np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0)
    scaled = np.divide(values * _MAX_COMPONENT, top, out=np.zeros_like(values), where=top > 0)
    stored: NDArray[np.int8] = np.rint(scaled).astype(np.int8)
    return stored


def norms(stored: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the lengths of stored vectors, shape (n,)."""
    values = stored.astype(np.float32)
    lengths: NDArray[np.float64] = np.sqrt(np.vecdot(values, values).astype(np.float64))
    return lengths


def row_products(rows: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the product of each row (n, d) with a query (d,), shape (n,), on this thread alone.

    A matrix product is as fast where it has the machine to itself; but from a hundred rows on it
    has a thread of the BLAS on each processor take part, for whom a service's own threads must
    wait. And the rows would have to be float32 in memory, not some at a time.
    """
    products: NDArray[np.float32] = np.vecdot(rows, query.astype(np.float32))
    return products


def cosines(stored: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the cosine of each stored vector (n, d) to a query (d,); 0.0 where one is zero."""
    products = row_products(stored, query).astype(np.float64)
    lengths = norms(stored) * norms(query[None, :])[0]
    found: NDArray[np.float64] = np.divide(
        products, lengths, out=np.zeros_like(products), where=lengths > 0
    )
    return found


def centroid(stored: NDArray[np.int8]) -> NDArray[np.float64] | None:
    """Return the mean of the directions of stored vectors (n, d), shape (d,).

    Each counts alike, brought to length 1; zero ones have no direction. None where none has. The
    same vectors in the same order give the same bits.
    """
    total, count = np.zeros(stored.shape[1]), 0
    for start in range(0, len(stored), _NORMALISE_BLOCK_ROWS):
        block = stored[start : start + _NORMALISE_BLOCK_ROWS]
        lengths = norms(block)
        pointing = lengths > 0
        total += (block[pointing] / lengths[pointing, None]).sum(axis=0)
        count += int(pointing.sum())
    return total / count if count else None
