"""A plain function as an embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from memolith.ports.embedder import TextRole

_DIMENSIONS = 2


class CallableEmbedder:
    """Makes an embedder of a function from texts to vectors.

    Vectors are brought to length 1. The model's name is the function's `name` attribute, or
    its module and name: a store made with one function is not opened with another. The
    dimension is found by embedding a word, when it is first asked for. What the function raises
    passes through as it is; nothing is stored then.
    """

    def __init__(self, function: Callable[[list[str]], ArrayLike]) -> None:
        """Use this function."""
        self._function = function
        self._dimension: int | None = None
        module = getattr(function, "__module__", type(function).__module__)
        own = getattr(function, "__qualname__", type(function).__qualname__)
        self._name = str(getattr(function, "name", f"{module}.{own}"))

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        if self._dimension is None:
            self._dimension = int(self._vectors(["dimension"]).shape[1])
        return self._dimension

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return the function's vectors of the texts, each of length 1."""
        del role
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        vectors = self._vectors(list(texts))
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        unit = np.zeros_like(vectors)
        np.divide(vectors, lengths, out=unit, where=lengths > 0)
        return unit

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        given = self._function(texts)
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
                vectors = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ServiceFailed(self._name, "gave what is no list of vectors") from error
        if vectors.ndim != _DIMENSIONS or not vectors.shape[1]:
            raise ServiceFailed(self._name, f"gave vectors of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ServiceFailed(self._name, "gave a vector that is not finite")
        return vectors
