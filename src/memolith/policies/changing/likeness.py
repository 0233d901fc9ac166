"""How two values of one attribute stand to each other."""

from __future__ import annotations

import re
from enum import StrEnum

from memolith.text.lists import word_set

_VALUE_WORD = re.compile(r"[\w'&+-]+")
_VALUE_ARTICLES = word_set("a an the")

JOINING_WORDS = word_set("and or with in at on for und oder mit")
"""Words with which a value is more than one value, or qualified."""


class ValueComparison(StrEnum):
    """How two values stand to each other."""

    SAME = "same"
    DIFFERENT = "other"
    UNSURE = "unsure"


def build_comparison(*, same: bool, other: bool) -> ValueComparison:
    """Return how two values stand to each other; the same goes before another."""
    if same:
        return ValueComparison.SAME
    return ValueComparison.DIFFERENT if other else ValueComparison.UNSURE


def split_words(text: str) -> list[str]:
    """Return the words of a value, without case and articles."""
    return [word for word in _VALUE_WORD.findall(text.casefold()) if word not in _VALUE_ARTICLES]
