"""How well a message and those near it hold the words of a question together.

In a conversation the words of a question are spread over turns: one names the film, the next but
one says that it was wonderful. Each term counts once, where it stands best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

WINDOW_REACH = 2
"""How many messages before and after are near. Measured: 1 gives half the gain, 3 no more."""

WINDOW_DECAY = 0.8
"""What a term counts for each step away. Measured: 0.6 to 1 are alike."""


def max_score_by_item(
    term: Integers, item: Integers, score: Floats, terms: int, items: int
) -> NDArray[np.float64]:
    """Return each term's score in each item, that of its best passage, shape (terms, items).

    Args:
        term: Which term stands there, shape (n,).
        item: In which item, shape (n,).
        score: What it is worth there, 0 and up, shape (n,).
        terms: How many terms there are.
        items: How many items.
    """
    held = np.zeros(terms * items)
    np.maximum.at(held, term * items + item, score)
    return held.reshape(terms, items)


def score_windows(held: Floats, steps: Sequence[int], neighbours: Integers) -> Floats:
    """Return how well each item and those near it hold the terms, shape (n,).

    Args:
        held: Each term's score in each item, shape (terms, items).
        steps: How far away each row of `near` is, shape (k,).
        near: Which item that is for each, −1: there is none; shape (k, n), and the items
            themselves at 0 steps among them.
    """
    none = np.zeros((len(held), 1))
    padded = np.concatenate([held, none], axis=1)  # the last column is that of −1
    decay = np.array([WINDOW_DECAY**each for each in steps])
    total: Floats = (decay[:, None] * padded[:, neighbours]).max(axis=1).sum(axis=0)
    return total
