"""Which of many vectors is nearest among those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.vectors import norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEAREST_BLOCK_ROWS = 256
"""Vectors compared at once: with 20,000 before them their cosines take 20 MB."""


def find_nearest_before(stored: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each vector the row of the nearest of those before it, and their cosine.

    Of those that are as near the first. Takes time with the square of their number.

    Args:
        stored: As they are stored, shape (n, d); one that is zero is near to nothing.

    Returns:
        Rows, −1 for the first vector, and cosines −1..1, −1.0 for the first; each of shape (n,).
    """
    count = len(stored)
    rows, best = np.full(count, -1, dtype=np.int64), np.full(count, -1.0)
    lengths = norms(stored).astype(np.float32)
    lengths[lengths == 0] = np.inf
    units = stored.astype(np.float32) / lengths[:, None]
    for start in range(0, count, NEAREST_BLOCK_ROWS):
        end = min(start + NEAREST_BLOCK_ROWS, count)
        found = units[start:end] @ units[:end].T
        found[:, start:][np.triu_indices(end - start)] = -1.0  # itself, and those after it
        rows[start:end] = found.argmax(axis=1)
        best[start:end] = found.max(axis=1)
    rows[:1], best[:1] = -1, -1.0
    return rows, best
