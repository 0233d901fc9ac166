"""Lists of words, as data."""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list written with white space between them."""
    return frozenset(words.split())
