"""How a text goes into the index: what is embedded of it, and by which keywords it is found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mnemon.text.analysis import terms

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW_TOKENS = 128
"""A message shares its keywords' window with the one before it where both fit in this. Measured:
a turn alone is often meaningless ("Yes, last week!"), and an unbounded window halves recall on
long answers."""


def embedded_text(speaker: str | None, passage: str) -> str:
    """Return what is embedded of a passage: with its speaker in front, where that has a name."""
    return f"{speaker}: {passage}" if speaker else passage


def passage_terms(speaker: str | None, passage: str) -> Mapping[str, int]:
    """Return the keywords of a passage and how often each stands in it."""
    del speaker
    return Counter(terms(passage))


def window_terms(
    own: Mapping[str, int], own_tokens: int, previous: Mapping[str, int], previous_tokens: int
) -> Mapping[str, int]:
    """Return a message's keywords with those of the message before it, where both fit.

    Only for two messages of a single passage each.
    """
    if own_tokens + previous_tokens > WINDOW_TOKENS:
        return own
    return Counter(own) + Counter(previous)
