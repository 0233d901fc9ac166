"""Texts as the word pieces of an embedding model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memolith.adapters.embedders.model_folder import SETTING, open_folder
from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    # At run time it is imported at first use, so that opening a store stays quick.
    from tokenizers import Encoding, Tokenizer

_loading = threading.Lock()


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
        self._file = open_folder(model_dir).tokenizer

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of word pieces of each text, in order, without special tokens."""
        return [len(encoded(self._file, text)) for text in texts]


def encoded(file: Path, text: str) -> Encoding:
    """Return all word pieces of a text, without special tokens.

    Lone surrogates count as question marks. One text at a time: the library's batches start
    threads, which a later fork of the process would have to be protected from.
    """
    return tokenizer(file).encode(_encodable(text), add_special_tokens=False)


def tokenizer(file: Path) -> Tokenizer:
    """Return the tokenizer of a file, without truncation or padding, loaded once a process.

    Raises:
        InvalidConfiguration: The file can't be read, or is not a tokenizer's.
    """
    with _loading:
        return _loaded(file)


@cache
def _loaded(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidConfiguration(SETTING, f"{file} can't be read: {error}") from error
    try:
        loaded = Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises nothing narrower
        raise InvalidConfiguration(SETTING, f"{file} is not a tokenizer: {error}") from error
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
