"""Asking an embedder, and seeing that what it gives are vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.errors import ServiceFailed
from memolith.steps import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from memolith.ports.embedder import Embedder, TextRole


def embed_texts(embedder: Embedder, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
    """Return the vectors of texts, shape (len(texts), dimension), finite.

    Raises:
        ServiceFailed: The embedder failed, or gave what is no vector.
    """
    if not texts:  # nor is the dimension asked for: the model may have to be loaded for it
        return np.empty((0, 0), dtype=np.float32)
    dimension = embedder.dimension
    with span("embed"):
        given = embedder.embed(texts, role=role)
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
            vectors = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        problem = "gave what is no list of vectors"
        raise ServiceFailed(embedder.name, problem) from error
    if vectors.shape != (len(texts), dimension):
        raise ServiceFailed(
            embedder.name,
            f"gave vectors of shape {vectors.shape}, not {(len(texts), dimension)}",
        )
    if not np.isfinite(vectors).all():
        raise ServiceFailed(embedder.name, "gave a vector that is not finite")
    return vectors
