"""Embeddings and cross-encoders in this process, with sentence-transformers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from memolith.errors import InvalidConfiguration, ServiceFailed
from memolith.policies.embedding_models import SelectedModel
from memolith.ports.models import TextRole

EMBEDDING_EXTRA: Final = "memolith[sentence-transformers]"


class SentenceTransformersVectorService:
    """Embeddings of a sentence-transformers model. Thread-safe.

    The model is loaded once, on first use. Nothing is sent or downloaded. If Memolith does not know
    a model's prefixes, the model's own configuration is used.
    """

    def __init__(self, model: SelectedModel, model_path: str) -> None:
        """Configure the model.

        Args:
            model: The selected model.
            model_path: The model's folder, or its name in the local cache.

        Raises:
            InvalidConfiguration: sentence-transformers is not installed.
        """
        if find_spec("sentence_transformers") is None:
            problem = f"sentence-transformers is not installed: pip install '{EMBEDDING_EXTRA}'"
            raise InvalidConfiguration("embedding.provider", problem)
        self.name = f"sentence-transformers:{model.requested_name}"
        self._model_path = model_path
        self._is_known = model.info.dimension is not None
        self._model: Any = None
        # The tokenizers are not thread-safe.
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Return the vectors of texts.

        Raises:
            ServiceFailed: The model is missing or failed.
        """
        with self._lock:
            model = self._get_model()
            try:
                if self._is_known:  # the texts already have their prefixes
                    return model.encode(list(texts), prompt="", show_progress_bar=False)
                encode = model.encode_query if role == "query" else model.encode_document
                return encode(list(texts), show_progress_bar=False)
            except (RuntimeError, ValueError, IndexError) as error:
                raise ServiceFailed(self.name, "the model failed") from error

    def close(self) -> None:
        """Release the model."""
        with self._lock:
            self._model = None

    def _get_model(self) -> Any:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            try:
                self._model = SentenceTransformer(self._model_path, local_files_only=True)
            except (OSError, ValueError, RuntimeError, ImportError) as error:
                problem = "the model is not on this machine or can't be read"
                raise ServiceFailed(self.name, problem) from error
        return self._model


def get_stored_model_name(model: str) -> str:
    """Return a model's name in the store: a folder is marked as such, whatever its name."""
    return f"folder:{Path(model).resolve().name}" if Path(model).is_dir() else model


# --- Cross-encoder


RERANK_EXTRA = "memolith[rerank]"


class CrossEncoderReranker:
    """Scores texts with a cross-encoder. Thread-safe; the model is loaded once, on first use.

    Nothing is sent or downloaded. A failed load is not retried.
    """

    def __init__(self, model: str) -> None:
        """Use a model folder, or the name of a model in the local cache."""
        self._name = model
        self._model: Any = None
        self._failure: ServiceFailed | None = None
        # The tokenizers are not thread-safe.
        self._lock = threading.Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the model's score of each text for the query.

        Raises:
            ServiceFailed: sentence-transformers is not installed, the model is missing, has more
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
            raise ServiceFailed(self._name, "is not a reranker: it has more than one output")
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
            problem = "the cross-encoder is not on this machine or can't be read"
            raise ServiceFailed(self._name, problem) from error
