"""What all embedding services have in common: batches, retries, and answers that are checked."""

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
"""A vector shorter than this has no direction that float32 would hold."""


class VectorService(Protocol):
    """One service, by its client. Thread-safe.

    Attributes:
        name: Of the service, for errors.
    """

    @property
    def name(self) -> str:
        """The service's name."""
        ...

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Return what the service gives for texts, in their order: one row of numbers a text.

        Nothing is tried again here, and nothing checked that the caller can check.

        Raises:
            ServiceFailed: It gave nothing, or what can't be read. No error holds a text or a key.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much is asked at once.

    Attributes:
        texts: The most texts of a request.
        chars: The most characters of a request, but for a single text that is longer.
    """

    texts: int = 32
    chars: int = 100_000


class ServiceEmbedder:
    """An embedder that asks a service. Thread-safe.

    A text without anything but white space is not sent: its vector is zeros.
    """

    def __init__(
        self,
        service: VectorService,
        model: SelectedModel,
        limits: BatchLimits | None = None,
        guard: ServiceGuard | None = None,
    ) -> None:
        """Ask this service for vectors of this model, with that care; nothing is asked yet."""
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
        """The length of a vector; None while only the service knows."""
        return self._model.dimension or self._discovered_dimension

    @property
    def dimension(self) -> int:
        """The length of a vector. Asks the service where nobody else knows."""
        if self.known_dimension is None:
            with self._dimension_lock:
                if self._discovered_dimension is None:
                    self._discovered_dimension = self._request_vectors(
                        ["dimension"], "query"
                    ).shape[1]
        return self.known_dimension or 0

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return one vector a text, of length 1, in order.

        Returns:
            Shape (len(texts), dimension).

        Raises:
            ServiceFailed: The service failed, after what retries there may be, or gave something
                else than one vector of this length a text.
        """
        dimension = self.dimension
        vectors = np.zeros((len(texts), dimension), np.float32)
        said = [row for row, text in enumerate(texts) if text.strip()]
        first = 0
        for some in iter_batches(
            [texts[row] for row in said], self._limits.texts, self._limits.chars
        ):
            found = self._request_vectors(some, role)
            if found.shape[1] != dimension:
                raise self._build_failure(
                    f"gave vectors of {found.shape[1]} numbers, not of {dimension}: set"
                    " `dimension` under [memory.embedding] to what the model has, or to 0"
                )
            vectors[said[first : first + len(some)]] = found
            first += len(some)
        return vectors

    def close(self) -> None:
        """Let go of connections."""
        self._service.close()

    def _request_vectors(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float32]:
        """Return vectors of length 1 from one request, sent again while that may help."""
        name = self._service.name
        ask = partial(
            self._guard.call_with_retries,
            name,
            lambda: self._normalise(self._fetch_vectors(texts, role)),
        )
        return self._guard.limit_concurrency(name, ask)

    def _fetch_vectors(self, texts: Sequence[str], role: TextRole) -> NDArray[np.float64]:
        """Ask once, and check that what comes is a finite vector a text.

        That is no vector a text, it may be so only this time: it is worth another try.
        """
        prefix = self._model.prefix(role)
        given = self._service.vectors([prefix + text for text in texts], role)
        try:
            rows = [np.asarray(row, dtype=np.float64) for row in given]
        except (TypeError, ValueError, OverflowError):
            # Not kept as the cause: its message may show what the service said.
            raise self._build_failure("gave what is no list of vectors", retryable=True) from None
        if len(rows) != len(texts):
            raise self._build_failure(
                f"gave {len(rows)} vectors for {len(texts)} texts", retryable=True
            )
        shapes = {row.shape for row in rows}
        if len(shapes) != 1 or rows[0].ndim != 1 or not rows[0].size:
            raise self._build_failure(f"gave vectors of shapes {sorted(shapes)}", retryable=True)
        vectors = np.stack(rows)
        if not np.isfinite(vectors).all():
            raise self._build_failure("gave a vector that is not finite", retryable=True)
        return vectors

    def _normalise(self, vectors: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return what is kept of vectors, at length 1."""
        whole, kept = self._model.info.dimension, self._model.truncated_dimension
        if kept is not None and vectors.shape[1] == whole:
            vectors = vectors[:, :kept]
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not ((lengths > _MIN_VECTOR_LENGTH) & np.isfinite(lengths)).all():
            raise self._build_failure(
                "gave a vector of no length, or of none that counts", retryable=True
            )
        unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return unit

    def _build_failure(self, problem: str, *, retryable: bool = False) -> ServiceFailed:
        return ServiceFailed(self._service.name, problem, retryable=retryable)
