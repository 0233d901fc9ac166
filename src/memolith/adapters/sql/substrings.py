"""Looking for texts within texts, without regard to case."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def count_contained(words: Sequence[str], texts: Iterable[str]) -> int:
    """Return how many of the case-folded texts stand anywhere in any of the others."""
    folded = [text.casefold() for text in texts]
    return sum(any(word in text for text in folded) for word in words)
