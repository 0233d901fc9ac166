"""Looking for words where they should not be: in files, with an embedder."""

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
"""As `support.random_words.Words` makes them."""


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return what stands in the files of a folder, by their names."""
    return {each.name: each.read_bytes() for each in sorted(folder.iterdir()) if each.is_file()}


def found_in(content: bytes, words: Iterable[str]) -> set[bytes]:
    """Return which of the words stand in a content, in one byte a letter or in two."""
    wanted = {word.encode() for word in words}
    lowered = content.lower()
    views = (lowered, lowered[::2], lowered[1::2])
    return {match[1] for view in views for match in _WORD.finditer(view)} & wanted


def sealed_values(path: Path) -> set[bytes]:
    """Return what stands in all sealed columns."""
    asked = (
        f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608 - names of ours
        for table, columns in ENCRYPTED_COLUMNS.items()
        for column in columns
    )
    return {value for each in asked for (value,) in rows(path, each) if isinstance(value, bytes)}


class RecordingEmbedder(HashingEmbedder):
    """Remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], *, role: TextRole) -> NDArray[np.float32]:
        self.seen += texts
        return super().embed(texts, role=role)
