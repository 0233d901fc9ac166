"""Novelty: how far a text is from all that an owner has already (the profile `chunks`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def compute_novelty(
    vectors: NDArray[np.generic], centre: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return each vector's cosine distance from the centre, 0..1; 1.0 where there is no centre.

    Args:
        vectors: Shape (n, d), a row a text. A row of zeros is at distance 1.0.
        centre: Of the owner's active memories (`memolith.policies.vectors.centroid`), as it stood
            before any of these was stored.
    """
    if centre is None:
        return np.ones(len(vectors))
    length = float(np.linalg.norm(centre))
    cosines = _normalise_rows(vectors) @ (centre / length if length else centre)
    return clamp_novelty(1.0 - cosines)


def clamp_novelty(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cosine distances, 0..2, as novelty: what points away is no newer than new."""
    clamped: NDArray[np.float64] = np.clip(distances, 0.0, 1.0)
    return clamped


def _normalise_rows(vectors: NDArray[np.generic]) -> NDArray[np.float64]:
    values = vectors.astype(np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    units: NDArray[np.float64] = np.divide(
        values, lengths, out=np.zeros_like(values), where=lengths > 0
    )
    return units
