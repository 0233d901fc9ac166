"""The local embedder: model folders, tokenizers and ONNX Runtime."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from memolith.errors import InvalidConfiguration, ServiceFailed
from memolith.ports.models import TextRole

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

MODEL_SETTING: Final = "embedding.model"
"""The setting of the model folder."""

Pooling = Literal["mean", "cls"]
"""How token vectors are combined into one."""

_DEFAULT_MAX_TOKENS: Final = 256
"""Window of most sentence embedding models, in word pieces."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Files of a model, with the description in `memolith-model.json`.

    Attributes:
        name: The model's name in the store.
        model: The ONNX file.
        tokenizer: File of the `tokenizers` library.
        dimension: Length of a vector; None if only the model knows it.
        max_tokens: The model's window, including special tokens.
        query_prefix: Prepended to queries.
        document_prefix: Prepended to all other texts.
        pooling: How token vectors are combined, unless the model does it.
        optimised: Whether the graph is already optimised.
    """

    name: str
    model: Path
    tokenizer: Path
    dimension: int | None = None
    max_tokens: int = _DEFAULT_MAX_TOKENS
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Pooling = "mean"
    is_optimised: bool = False


class _ModelDescription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`memolith-model.json`; every field is optional."""

    name: str | None = None
    dimension: int | None = None
    max_tokens: int = _DEFAULT_MAX_TOKENS
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Pooling = "mean"


def load_model_folder(path: Path | None) -> ModelFolder:
    """Return the description of a model folder, or of the bundled model in memolith-minilm.

    Only `memolith-model.json` is read.

    Raises:
        InvalidConfiguration: The folder, one of its files or the package is missing, or
            `memolith-model.json` is invalid.
    """
    folder = _bundled_folder() if path is None else _describe_folder(path)
    for file in (folder.model, folder.tokenizer):
        if not file.is_file():
            raise InvalidConfiguration(
                MODEL_SETTING,
                f"{file} is missing; a model folder needs model.onnx and tokenizer.json"
                if path
                else f"memolith-minilm is damaged, {file} is missing: reinstall it",
            )
    return folder


def _bundled_folder() -> ModelFolder:
    try:
        import memolith_minilm
    except ModuleNotFoundError as error:
        raise InvalidConfiguration(
            MODEL_SETTING,
            "the local model is not installed: install the package memolith-minilm, or set "
            "MEMOLITH_MODEL to the folder of another model",
        ) from error
    return ModelFolder(
        name=memolith_minilm.NAME,
        model=memolith_minilm.model_path(),
        tokenizer=memolith_minilm.tokenizer_path(),
        dimension=memolith_minilm.DIMENSION,
        max_tokens=memolith_minilm.MAX_TOKENS,
        is_optimised=True,
    )


def _describe_folder(path: Path) -> ModelFolder:
    described = _read_description(path / "memolith-model.json")
    return ModelFolder(
        name=described.name or path.resolve().name,
        model=path / "model.onnx",
        tokenizer=path / "tokenizer.json",
        dimension=described.dimension,
        max_tokens=described.max_tokens,
        query_prefix=described.query_prefix,
        document_prefix=described.document_prefix,
        pooling=described.pooling,
    )


def _read_description(file: Path) -> _ModelDescription:
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return _ModelDescription()
    try:
        return msgspec.json.decode(content, type=_ModelDescription)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidConfiguration(MODEL_SETTING, str(error), str(file)) from error


# --- Tokenizer


_tokenizer_lock = threading.Lock()


class WordPieceCounter:
    """Counts word pieces, to estimate a chat model's tokens. Thread-safe.

    The tokenizer is loaded on first use, once per file and process, and shared with the embedder.
    """

    def __init__(self, model_dir: Path | None = None) -> None:
        """Use the tokenizer of a model folder; None for memolith-minilm.

        Raises:
            InvalidConfiguration: The model is missing.
        """
        self._file = load_model_folder(model_dir).tokenizer

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of word pieces of each text, without special tokens."""
        return [len(encode_text(self._file, text)) for text in texts]


def encode_text(file: Path, text: str) -> Encoding:
    """Return all word pieces of a text, without special tokens.

    Lone surrogates are replaced by question marks. Texts are encoded one at a time: batches of the
    library start threads, which are not fork-safe.
    """
    return load_tokenizer(file).encode(_replace_surrogates(text), add_special_tokens=False)


def load_tokenizer(file: Path) -> Tokenizer:
    """Return the tokenizer in a file, without truncation or padding; cached per process.

    Raises:
        InvalidConfiguration: The file is unreadable or not a tokenizer.
    """
    with _tokenizer_lock:
        return _load_tokenizer_file(file)


@cache
def _load_tokenizer_file(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidConfiguration(MODEL_SETTING, f"{file} can't be read: {error}") from error
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except Exception as error:  # the library has no narrower exception
        raise InvalidConfiguration(MODEL_SETTING, f"{file} is not a tokenizer: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _replace_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


# --- ONNX model


_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})

_TEXT_VECTORS: Final = 2
_TOKEN_VECTORS: Final = 3
"""Rank of an output with token vectors; an output with one vector per text has rank 2."""

_ERRORS_ONLY: Final = 3
"""Log level of ONNX Runtime; its warnings do not help users of a finished model."""


class OnnxModel:
    """A loaded ONNX model. Thread-safe.

    Attributes:
        dimension: Length of a vector.
    """

    def __init__(self, folder: ModelFolder) -> None:
        """Load the model.

        Raises:
            InvalidConfiguration: ONNX Runtime can't load the file, the model needs unknown inputs,
                or its dimension differs from the description.
        """
        self._name = folder.name
        self._pooling = folder.pooling
        self._session = _create_session(folder)
        self._inputs = {each.name for each in self._session.get_inputs()}
        if "input_ids" not in self._inputs or not self._inputs <= _INPUTS:
            raise InvalidConfiguration(
                MODEL_SETTING,
                f"{folder.model} takes {sorted(self._inputs)}, not token ids and a mask",
            )
        self._output = _find_output(self._session)
        self.dimension = len(self._run([0]))
        if folder.dimension not in (None, self.dimension):
            raise InvalidConfiguration(
                MODEL_SETTING,
                f"{folder.model} returns vectors with {self.dimension} dimensions, but"
                f" memolith-model.json says {folder.dimension}",
            )

    def embed(self, ids: list[int]) -> NDArray[np.float32]:
        """Return the normalised vector of a text's token ids, of shape (dimension,).

        Raises:
            ServiceFailed: The model failed or returned a vector that is not finite.
        """
        vector = self._run(ids)
        length = float(np.linalg.norm(vector))
        if not 0 < length < float("inf"):
            raise ServiceFailed(self._name, f"returned a vector of length {length}")
        return vector / np.float32(length)

    def _run(self, ids: list[int]) -> NDArray[np.float32]:
        from onnxruntime.capi.onnxruntime_pybind11_state import (
            Fail,
            InvalidArgument,
            RuntimeException,
        )

        tokens = np.array([ids], np.int64)
        values = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        try:
            inputs = {name: values[name] for name in self._inputs}
            output = self._session.run([self._output], inputs)[0]
        except (Fail, InvalidArgument, RuntimeException) as error:
            raise ServiceFailed(self._name, f"failed on {len(ids)} tokens") from error
        return self._pool(np.asarray(output, np.float32))

    def _pool(self, output: NDArray[np.float32]) -> NDArray[np.float32]:
        if output.ndim == _TEXT_VECTORS:
            return np.asarray(output[0])
        if output.ndim == _TOKEN_VECTORS:
            # No padding: each text runs alone.
            return np.asarray(output[0, 0] if self._pooling == "cls" else output[0].mean(axis=0))
        raise InvalidConfiguration(
            MODEL_SETTING, f"{self._name} returns an output of shape {output.shape}"
        )


def _find_output(session: InferenceSession) -> str:
    """Return the output with one vector per text if there is one, else the first output."""
    names: list[str] = [each.name for each in session.get_outputs()]
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _create_session(folder: ModelFolder) -> InferenceSession:
    # Set before the import: afterwards ONNX Runtime would record usage in the user's cache folder
    # and try to send it. `disable_telemetry_events` runs too late to prevent that.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as states

    onnxruntime.disable_telemetry_events()
    try:
        return onnxruntime.InferenceSession(
            folder.model,
            _build_session_options(onnxruntime, folder),
            providers=["CPUExecutionProvider"],
        )
    except (
        states.Fail,
        states.InvalidArgument,
        states.InvalidGraph,
        states.InvalidProtobuf,
        states.NoSuchFile,
        states.NotImplemented,
        states.RuntimeException,
    ) as error:
        raise InvalidConfiguration(
            MODEL_SETTING, f"ONNX Runtime can't load {folder.model}: {error}"
        ) from error


def _build_session_options(onnxruntime: Any, folder: ModelFolder) -> Any:
    """Return options to run on the caller's thread, without logs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    if folder.is_optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


# --- Embedder


_THREADS: Final = 2
"""More threads would let one import starve other callers of CPU. A guess."""


class LocalEmbedder:
    """Embeds texts with an ONNX model. Thread-safe; the model is loaded once, on first use.

    Each text runs alone: batches would be about 10 % faster, but in most 8-bit models a vector then
    depends on its batch. Several texts run in parallel threads. Nothing is sent or downloaded.
    """

    def __init__(self, model_dir: Path | None = None, *, threads: int | None = None) -> None:
        """Use the model in a folder; None for all-MiniLM-L6-v2 of the package memolith-minilm.

        Args:
            model_dir: Contains `model.onnx`, `tokenizer.json` and optionally `memolith-model.json`
                with any of name, dimension, max_tokens, query_prefix, document_prefix and pooling
                ("mean" or "cls").
            threads: Number of texts of a call that are embedded in parallel, at least 1. None: two,
                or one on a machine with one processor.

        Raises:
            InvalidConfiguration: The model is missing.
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
        """The length of a vector. Loads the model if its description does not contain it."""
        return self._folder.dimension or self._get_model().dimension

    @property
    def max_tokens(self) -> int:
        """The model's window in word pieces, with special tokens; longer texts are cut."""
        return self._folder.max_tokens

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        """Return one vector of length 1 per text, in order.

        A text without word pieces, such as the empty one, gets a vector of zeros.

        Returns:
            Shape (len(texts), dimension).

        Raises:
            InvalidConfiguration: The model can't be loaded.
            ServiceFailed: The model failed or returned a vector that is not finite.
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
        """Return the token ids of prefix and text, truncated to the window, with special tokens."""
        folder = self._folder
        encoding = encode_text(folder.tokenizer, text)
        if not len(encoding):
            return []
        prefix = folder.query_prefix if role == "query" else folder.document_prefix
        if prefix:
            encoding = encode_text(folder.tokenizer, prefix + text)
        tokenizer = load_tokenizer(folder.tokenizer)
        encoding.truncate(folder.max_tokens - tokenizer.num_special_tokens_to_add(is_pair=False))
        ids: list[int] = tokenizer.post_process(encoding).ids
        return ids

    def _get_model(self) -> OnnxModel:
        if self._model is None:
            with self._load_lock:
                if self._model is None:
                    self._model = OnnxModel(self._folder)
        return self._model
