"""Search for plaintext words in files, and an embedder that records its texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memolith import Memolith
from memolith.adapters.sql.rekey import ENCRYPTED_COLUMNS
from memolith.ports.models import TextRole
from memolith.testing.fakes import HashingEmbedder
from support.databases import rows

Opener = Callable[..., Memolith]
"""See the fixture `opened`."""

_WORD = re.compile(rb"(?=((?:[bdfgklmnprstvz][aeiou]){5}))")
"""Words of the form that `support.random_words.Words` generates."""


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files in a folder, by name."""
    return {each.name: each.read_bytes() for each in sorted(folder.iterdir()) if each.is_file()}


def found_in(content: bytes, words: Iterable[str]) -> set[bytes]:
    """Return which of the words occur in a content, as UTF-8 or UTF-16."""
    wanted = {word.encode() for word in words}
    lowered = content.lower()
    views = (lowered, lowered[::2], lowered[1::2])
    return {match[1] for view in views for match in _WORD.finditer(view)} & wanted


def sealed_values(path: Path) -> set[bytes]:
    """Return the values of all encrypted columns."""
    asked = (
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608 - fixed names
        for table, columns in ENCRYPTED_COLUMNS.items()
        for column in columns
    )
    return {value for each in asked for (value,) in rows(path, each) if isinstance(value, bytes)}


class RecordingEmbedder(HashingEmbedder):
    """Records the texts it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        self.seen += texts
        return super().embed(texts, role=role)
