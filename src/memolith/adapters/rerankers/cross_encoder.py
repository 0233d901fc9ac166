"""A cross-encoder in this process, by sentence-transformers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

RERANK_EXTRA = "memolith[rerank]"


class CrossEncoderReranker:
    """Scores texts with a cross-encoder. Thread-safe; the model loads at first use, once.

    Nothing is sent anywhere, and nothing downloaded. What can't be loaded once is not tried again.
    """

    def __init__(self, model: str) -> None:
        """Use the model in this folder, or of this name if this machine has it."""
        self._name = model
        self._model: Any = None
        self._failure: ServiceFailed | None = None
        # One at a time: a tokenizer of theirs must not be used by two threads at once.
        self._lock = threading.Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return what the model says of each pair of the query and a text.

        Raises:
            ServiceFailed: sentence-transformers is not installed, the model is not there, has more
                than one output, or failed.
        """
        if not texts:
            return []
        pairs = [(query, text) for text in texts]
        with self._lock:
            model = self._get_model()
            try:
                scores = np.asarray(model.predict(pairs, show_progress_bar=False))
            except (RuntimeError, ValueError, IndexError) as error:
                raise ServiceFailed(self._name, "the model failed") from error
        if scores.shape != (len(texts),):
            raise ServiceFailed(self._name, "is no reranker: it has more than one output")
        return [float(score) for score in scores]

    def _get_model(self) -> Any:
        if self._failure is not None:
            raise self._failure
        if self._model is None:
            try:
                self._model = self._load()
            except ServiceFailed as failure:
                self._failure = failure
                raise
        return self._model

    def _load(self) -> Any:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            problem = f"sentence-transformers is not installed: pip install '{RERANK_EXTRA}'"
            raise ServiceFailed(self._name, problem) from error
        try:
            return CrossEncoder(self._name, local_files_only=True)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            problem = "there is no such cross-encoder on this machine, or it can't be read"
            raise ServiceFailed(self._name, problem) from error
