"""What fits into a token budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PROMPT_FACTOR = 1.1
"""Word pieces of the local tokenizer to tokens of a chat model: a tenth more, to be safe."""


def prompt_tokens(pieces: int) -> int:
    """Return what that many word pieces cost in a prompt."""
    return math.ceil(pieces * PROMPT_FACTOR)


def fitting(costs: Iterable[int], budget: int, limit: int) -> list[int]:
    """Return the places of what fits, in order: what does not is skipped, the next is tried."""
    kept: list[int] = []
    used = 0
    for place, cost in enumerate(costs):
        if len(kept) >= limit:
            break
        if used + cost <= budget:
            kept.append(place)
            used += cost
    return kept
