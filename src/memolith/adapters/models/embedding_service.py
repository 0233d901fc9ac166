"""Embedder on top of an embedding service: batching, retries and validation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.models.resilience import ServiceGuard
from memolith.errors import ServiceFailed
from memolith.policies.embedding_models import SelectedModel, iter_batches
from memolith.ports.models import TextRole

_MIN_VECTOR_LENGTH = 1e-12
"""Shorter vectors have no direction in float32."""


class VectorService(Protocol):
    """Client of one embedding service. Thread-safe.

    Attributes:
        name: The service's name, for errors.
    """

    @property
    def name(self) -> str:
        """The service's name."""
        ...

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Request the vectors of texts, in order: one row of numbers per text.

        Implementations neither retry nor validate; the caller does.

        Raises:
            ServiceFailed: The request failed or the response is unreadable. The error contains no
                text and no key.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits of one request.

    Attributes:
        texts: Largest number of texts.
        chars: Largest number of characters; a single longer text is sent alone.
    """

    texts: int = 32
    chars: int = 100_000


class ServiceEmbedder:
    """An embedder that calls a service. Thread-safe.

    Blank texts are not sent; their vectors are zeros.
    """

    def __init__(
        self,
        service: VectorService,
        model: SelectedModel,
        limits: BatchLimits | None = None,
        guard: ServiceGuard | None = None,
    ) -> None:
        """Use a service with a model, batch limits and a guard; nothing is requested yet."""
        self._service = service
        self._model = model
        self._limits = limits or BatchLimits()
        self._guard = guard or ServiceGuard()
        self._discovered_dimension: int | None = None
        self._dimension_lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def known_dimension(self) -> int | None:
        """The length of a vector, or None if only the service knows it."""
        return self._model.dimension or self._discovered_dimension

    @property
    def dimension(self) -> int:
        """The length of a vector; requested from the service if unknown."""
        if self.known_dimension is None:
            with self._dimension_lock:
                if self._discovered_dimension is None:
                    self._discovered_dimension = self._request_vectors(
                        ["dimension"], "query"
                    ).shape[1]
        return self.known_dimension or 0

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return one vector of length 1 per text, in order.

        Returns:
            Shape (len(texts), dimension).

        Raises:
            ServiceFailed: The service failed after all retries, or returned other vectors than
                requested.
        """
        dimension = self.dimension
        vectors = np.zeros((len(texts), dimension), np.float32)
        nonempty = [row for row, text in enumerate(texts) if text.strip()]
        first = 0
        for batch in iter_batches(
            [texts[row] for row in nonempty], self._limits.texts, self._limits.chars
        ):
            batch_vectors = self._request_vectors(batch, role)
            if batch_vectors.shape[1] != dimension:
                raise self._build_failure(
                    f"returned vectors with {batch_vectors.shape[1]} dimensions instead of"
                    f" {dimension}: set `dimension` under [memory.embedding] to the model's"
                    " dimension, or to 0"
                )
            vectors[nonempty[first : first + len(batch)]] = batch_vectors
            first += len(batch)
        return vectors

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def _request_vectors(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Return vectors of length 1 from one batch, with retries."""
        name = self._service.name
        fetch = partial(
            self._guard.call_with_retries,
            name,
            lambda: self._normalise(self._fetch_vectors(texts, role)),
        )
        return self._guard.limit_concurrency(name, fetch)

    def _fetch_vectors(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float64]:
        """Send one request and check that it returns a finite vector per text.

        A wrong response may be temporary and is retryable.
        """
        prefix = self._model.prefix(role)
        returned = self._service.vectors([prefix + text for text in texts], role)
        try:
            rows = [np.asarray(row, dtype=np.float64) for row in returned]
        except (TypeError, ValueError, OverflowError):
            # Not chained: its message may quote the response.
            raise self._build_failure("did not return a list of vectors", retryable=True) from None
        if len(rows) != len(texts):
            raise self._build_failure(
                f"returned {len(rows)} vectors for {len(texts)} texts", retryable=True
            )
        shapes = {row.shape for row in rows}
        if len(shapes) != 1 or rows[0].ndim != 1 or not rows[0].size:
            raise self._build_failure(
                f"returned vectors of shapes {sorted(shapes)}", retryable=True
            )
        vectors = np.stack(rows)
        if not np.isfinite(vectors).all():
            raise self._build_failure("returned a vector that is not finite", retryable=True)
        return vectors

    def _normalise(self, vectors: NDArray[np.float64]) -> NDArray[np.float32]:
        """Truncate vectors to the dimension and normalise them to length 1."""
        full_dimension, truncated_dimension = (
            self._model.info.dimension,
            self._model.truncated_dimension,
        )
        if truncated_dimension is not None and vectors.shape[1] == full_dimension:
            vectors = vectors[:, :truncated_dimension]
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not ((lengths > _MIN_VECTOR_LENGTH) & np.isfinite(lengths)).all():
            raise self._build_failure(
                "returned a vector whose length is zero or not finite", retryable=True
            )
        unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return unit

    def _build_failure(self, problem: str, *, retryable: bool = False) -> ServiceFailed:
        return ServiceFailed(self._service.name, problem, retryable=retryable)
