"""An embedding model in this process, by sentence-transformers."""

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
    """Gives the vectors of a model of sentence-transformers. Thread-safe.

    The model loads at first use, once. Nothing is sent anywhere, and nothing downloaded. Where
    Memolith does not know which prefixes a model wants, the model's own description decides.
    """

    def __init__(self, model: SelectedModel, model_path: str) -> None:
        """Use a model.

        Args:
            model: What is known of it.
            place: Its folder, or its name, by which this machine has it.

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
        # One at a time: a tokenizer of theirs must not be used by two threads at once.
        self._lock = threading.Lock()

    def vectors(self, texts: Sequence[str], role: TextRole) -> Any:
        """Return the model's vectors of texts.

        Raises:
            ServiceFailed: The model is not there, or failed.
        """
        with self._lock:
            model = self._get_model()
            try:
                if self._is_known:  # the prefixes stand before the texts already
                    return model.encode(list(texts), prompt="", show_progress_bar=False)
                encode = model.encode_query if role == "query" else model.encode_document
                return encode(list(texts), show_progress_bar=False)
            except (RuntimeError, ValueError, IndexError) as error:
                raise ServiceFailed(self.name, "the model failed") from error

    def close(self) -> None:
        """Let go of the model."""
        with self._lock:
            self._model = None

    def _get_model(self) -> Any:
        if self._model is None:
            from sentence_transformers import SentenceTransformer

            try:
                self._model = SentenceTransformer(self._model_path, local_files_only=True)
            except (OSError, ValueError, RuntimeError, ImportError) as error:
                problem = "there is no such model on this machine, or it can't be read"
                raise ServiceFailed(self.name, problem) from error
        return self._model


def get_stored_model_name(asked: str) -> str:
    """Return by which name a store keeps a model: a folder may hold any, whatever its name."""
    return f"folder:{Path(asked).resolve().name}" if Path(asked).is_dir() else asked


# --- A cross-encoder in this process, by sentence-transformers


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
