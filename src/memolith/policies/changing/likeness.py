"""How two values of one attribute stand to each other."""

from __future__ import annotations

import re
from enum import StrEnum

from memolith.text.lists import listed

_WORD = re.compile(r"[\w'&+-]+")
_ARTICLES = listed("a an the")

JOINING = listed("and or with in at on for und oder mit")
"""Words with which a value is more than one value, or qualified."""


class Likeness(StrEnum):
    """How two values stand to each other."""

    SAME = "same"
    OTHER = "other"
    UNSURE = "unsure"


def likeness(*, same: bool, other: bool) -> Likeness:
    """Return how two values stand to each other; the same goes before another."""
    if same:
        return Likeness.SAME
    return Likeness.OTHER if other else Likeness.UNSURE


def words_of(text: str) -> list[str]:
    """Return the words of a value, without case and articles."""
    return [word for word in _WORD.findall(text.casefold()) if word not in _ARTICLES]
