"""A sentence embedding model in this process, on ONNX Runtime."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.embedders.model_folder import load_model_folder
from memolith.adapters.embedders.onnx_model import OnnxModel
from memolith.adapters.embedders.wordpiece import encode_text, load_tokenizer
from memolith.ports.embedder import TextRole

_THREADS: Final = 2
"""Beyond two, threads of one import take the processor from everybody else's queries: a guess."""


class LocalEmbedder:
    """Embeds texts with an ONNX model. Thread-safe; the model loads at first use, once.

    Each text is run on its own. Batches would be some 10 % faster, but in most 8-bit models a
    text's vector then depends on the batch; several texts are spread over threads instead.
    Nothing is sent anywhere, and nothing downloaded.
    """

    def __init__(self, model_dir: Path | None = None, *, threads: int | None = None) -> None:
        """Use the model in this folder; None is all-MiniLM-L6-v2 of the package memolith-minilm.

        Args:
            model_dir: Holds `model.onnx`, `tokenizer.json` and, if there is more to say,
                `memolith-model.json` with any of name, dimension, max_tokens, query_prefix,
                document_prefix and pooling ("mean" or "cls").
            threads: How many texts of a call to embed at once, at least 1; None is two, or one
                on a machine with one processor.

        Raises:
            InvalidConfiguration: There is no such model.
        """
        self._folder = load_model_folder(model_dir)
        self._threads = threads or min(_THREADS, os.cpu_count() or 1)
        self._load_lock = threading.Lock()
        self._model: OnnxModel | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._folder.name

    @property
    def dimension(self) -> int:
        """The length of a vector. Loads the model where only that knows."""
        return self._folder.dimension or self._get_model().dimension

    @property
    def max_tokens(self) -> int:
        """The model's window in word pieces, special tokens included: more is cut off."""
        return self._folder.max_tokens

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return one vector a text, of length 1, in order.

        A text without a single word piece, such as the empty one, gets a vector of zeros.

        Returns:
            Shape (len(texts), dimension).

        Raises:
            InvalidConfiguration: The model can't be loaded.
            ServiceFailed: The model failed on a text, or gave what is no finite vector.
        """
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        if len(texts) <= 1 or self._threads == 1:
            for row, text in enumerate(texts):
                vectors[row] = self._embed_text(role, text)
            return vectors
        with ThreadPoolExecutor(self._threads) as pool:
            for row, vector in enumerate(pool.map(partial(self._embed_text, role), texts)):
                vectors[row] = vector
        return vectors

    def _embed_text(self, role: TextRole, text: str) -> NDArray[np.float32]:
        ids = self._token_ids(role, text)
        return self._get_model().embed(ids) if ids else np.zeros(self.dimension, np.float32)

    def _token_ids(self, role: TextRole, text: str) -> list[int]:
        """Return what the model reads: prefix and text, cut to the window, with special tokens."""
        folder = self._folder
        pieces = encode_text(folder.tokenizer, text)
        if not len(pieces):
            return []
        prefix = folder.query_prefix if role == "query" else folder.document_prefix
        if prefix:
            pieces = encode_text(folder.tokenizer, prefix + text)
        of_model = load_tokenizer(folder.tokenizer)
        pieces.truncate(folder.max_tokens - of_model.num_special_tokens_to_add(is_pair=False))
        ids: list[int] = of_model.post_process(pieces).ids
        return ids

    def _get_model(self) -> OnnxModel:
        if self._model is None:
            with self._load_lock:
                if self._model is None:
                    self._model = OnnxModel(self._folder)
        return self._model
