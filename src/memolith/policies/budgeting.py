"""What a text costs in a prompt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PROMPT_FACTOR = 1.1
"""Word pieces of the local tokenizer to tokens of a chat model: a tenth more, to be safe."""


def estimate_prompt_tokens(word_pieces: int) -> int:
    """Return what that many word pieces cost in a prompt."""
    return math.ceil(word_pieces * PROMPT_FACTOR)


def select_within_budget(costs: Sequence[int], budget: int, limit: int | None = None) -> list[int]:
    """Return the places of what is taken, in order, at most `limit`, until the budget is spent.

    What does not fit is skipped, not cut, and the next is tried.
    """
    places: list[int] = []
    left = budget
    for place, cost in enumerate(costs):
        if cost <= left and (limit is None or len(places) < limit):
            places.append(place)
            left -= cost
    return places


BYTES_PER_TOKEN = 4
"""A usual rule of thumb for English text, where no tokenizer is at hand."""


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Return about what each text costs, by its length in UTF-8 alone."""
    return [math.ceil(len(text.encode()) / BYTES_PER_TOKEN) for text in texts]
