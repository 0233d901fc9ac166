"""Where a sentence embedding model lies, and what is to be known of it before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from memolith.errors import InvalidConfiguration

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
