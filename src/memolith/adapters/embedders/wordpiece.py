"""Texts as the word pieces of an embedding model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.embedders.model_folder import MODEL_SETTING, load_model_folder
from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    # At run time it is imported at first use, so that opening a store stays quick.
    from tokenizers import Encoding, Tokenizer

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
