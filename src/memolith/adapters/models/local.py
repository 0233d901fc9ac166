"""Where a sentence embedding model lies, and what is to be known of it before it is loaded."""

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
"""The setting that names the folder."""

Pooling = Literal["mean", "cls"]
"""How token vectors become one, for a model that gives token vectors."""

_DEFAULT_MAX_TOKENS: Final = 256
"""Word pieces; what most sentence embedding models were trained with, so the safe guess."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model's files, and what `memolith-model.json` says of it.

    Attributes:
        name: The model, as the store keeps it.
        model: The ONNX file.
        tokenizer: The tokenizer's file, as the library `tokenizers` reads it.
        dimension: The length of a vector; None where only the model knows.
        max_tokens: The model's window, special tokens included.
        query_prefix: Put before a text that is embedded as a query.
        document_prefix: Put before any other.
        pooling: How token vectors become one, if the model leaves that to us.
        optimised: Whether the graph is as it should run, with nothing left to optimise.
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
    """`memolith-model.json`: every field may be missing."""

    name: str | None = None
    dimension: int | None = None
    max_tokens: int = _DEFAULT_MAX_TOKENS
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: Pooling = "mean"


def load_model_folder(path: Path | None) -> ModelFolder:
    """Describe the model in a folder, or the one that the package memolith-minilm carries.

    Only `memolith-model.json` is read.

    Raises:
        InvalidConfiguration: The folder, a file in it, or the package is missing, or
            `memolith-model.json` is not what it should be.
    """
    folder = _bundled_folder() if path is None else _describe_folder(path)
    for file in (folder.model, folder.tokenizer):
        if not file.is_file():
            raise InvalidConfiguration(
                MODEL_SETTING,
                f"there is no {file}; a model's folder holds model.onnx and tokenizer.json"
                if path
                else f"memolith-minilm is damaged, {file} is missing; install it again",
            )
    return folder


def _bundled_folder() -> ModelFolder:
    try:
        import memolith_minilm
    except ModuleNotFoundError as error:
        raise InvalidConfiguration(
            MODEL_SETTING,
            "the local model is not installed: install the package memolith-minilm, or name "
            "the folder of another model in MEMOLITH_MODEL",
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


# --- Texts as the word pieces of an embedding model


_tokenizer_lock = threading.Lock()


class WordPieceCounter:
    """Counts word pieces, as a language model's tokens are estimated by. Thread-safe.

    The tokenizer loads at first use, once a process for each file: an embedder of the same model
    shares it.
    """

    def __init__(self, model_dir: Path | None = None) -> None:
        """Count as the model in this folder does; None is the model of memolith-minilm.

        Raises:
            InvalidConfiguration: There is no such model.
        """
        self._file = load_model_folder(model_dir).tokenizer

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of word pieces of each text, in order, without special tokens."""
        return [len(encode_text(self._file, text)) for text in texts]


def encode_text(file: Path, text: str) -> Encoding:
    """Return all word pieces of a text, without special tokens.

    Lone surrogates count as question marks. One text at a time: the library's batches start
    threads, which a later fork of the process would have to be protected from.
    """
    return load_tokenizer(file).encode(_replace_surrogates(text), add_special_tokens=False)


def load_tokenizer(file: Path) -> Tokenizer:
    """Return the tokenizer of a file, without truncation or padding, loaded once a process.

    Raises:
        InvalidConfiguration: The file can't be read, or is not a tokenizer's.
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
        loaded = Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises nothing narrower
        raise InvalidConfiguration(MODEL_SETTING, f"{file} is not a tokenizer: {error}") from error
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def _replace_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


# --- A sentence embedding model as ONNX Runtime runs it


_INPUTS: Final = frozenset({"input_ids", "attention_mask", "token_type_ids"})

_TEXT_VECTORS: Final = 2
_TOKEN_VECTORS: Final = 3
"""Dimensions of an output that holds a vector a text, and of one that holds a vector a token."""

_ERRORS_ONLY: Final = 3
"""ONNX Runtime's log level; its warnings are of no use to who uses a finished model."""


class OnnxModel:
    """A loaded model. Thread-safe.

    Attributes:
        dimension: The length of a vector.
    """

    def __init__(self, folder: ModelFolder) -> None:
        """Load the model.

        Raises:
            InvalidConfiguration: The file is not a model that ONNX Runtime can run, takes inputs
                that texts do not give, or its vectors have another length than was said.
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
                f"{folder.model} gives vectors of {self.dimension} numbers, not of the "
                f"{folder.dimension} that memolith-model.json says",
            )

    def embed(self, ids: list[int]) -> NDArray[np.float32]:
        """Return the vector of one text's token ids, of length 1; shape (dimension,).

        Raises:
            ServiceFailed: The model failed on them, or gave what is no finite vector.
        """
        vector = self._run(ids)
        length = float(np.linalg.norm(vector))
        if not 0 < length < float("inf"):
            raise ServiceFailed(self._name, f"gave a vector of length {length}")
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
            given = {name: values[name] for name in self._inputs}
            found = self._session.run([self._output], given)[0]
        except (Fail, InvalidArgument, RuntimeException) as error:
            raise ServiceFailed(self._name, f"failed on {len(ids)} tokens") from error
        return self._pool(np.asarray(found, np.float32))

    def _pool(self, found: NDArray[np.float32]) -> NDArray[np.float32]:
        if found.ndim == _TEXT_VECTORS:
            return np.asarray(found[0])
        if found.ndim == _TOKEN_VECTORS:
            # No token is padding: each text is run on its own.
            return np.asarray(found[0, 0] if self._pooling == "cls" else found[0].mean(axis=0))
        raise InvalidConfiguration(
            MODEL_SETTING, f"{self._name} gives an output of shape {found.shape}"
        )


def _find_output(session: InferenceSession) -> str:
    """Return the output that is already a vector a text, where there is one; else the first."""
    names: list[str] = [each.name for each in session.get_outputs()]
    return "sentence_embedding" if "sentence_embedding" in names else names[0]


def _create_session(folder: ModelFolder) -> InferenceSession:
    # Before the import: from then on it would count what it is used for, keep that in the user's
    # cache folder, and try to send it. `disable_telemetry_events` comes too late for that.
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
    """Return how to run the model: on the caller's thread, quietly."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    if folder.is_optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


# --- A sentence embedding model in this process, on ONNX Runtime


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
