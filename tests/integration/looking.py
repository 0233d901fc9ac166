"""Looking for made-up words in files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_WORD = re.compile(rb"(?=((?:[bdfgklmnprstvz][aeiou]){5}))")
"""As `durability.words.Words` makes them."""


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return what stands in the files of a folder, by their names."""
    return {each.name: each.read_bytes() for each in sorted(folder.iterdir()) if each.is_file()}


def found_in(content: bytes, words: Iterable[str]) -> set[bytes]:
    """Return which of the words stand in a content, in one byte a letter or in two."""
    wanted = {word.encode() for word in words}
    lowered = content.lower()
    views = (lowered, lowered[::2], lowered[1::2])
    return {match[1] for view in views for match in _WORD.finditer(view)} & wanted
