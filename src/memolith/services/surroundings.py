"""What stands around the candidates of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from memolith.policies.ranking.selection import find_unique
from memolith.policies.ranking.surroundings import WINDOW_REACH, max_score_by_item, score_windows
from memolith.ports.columns import PART_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from memolith.domain.recall import SearchFilter
    from memolith.policies.ranking.bm25 import TermMatches
    from memolith.ports.store import Snapshot

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


def score_surroundings(
    snapshot: Snapshot,
    matches: TermMatches,
    numbers: Integers,
    previous: Integers,
    following: Integers,
    scope: SearchFilter,
) -> Floats:
    """Return how well each item and the messages near it hold the terms together, shape (n,).

    Args:
        snapshot: Of the owner.
        matches: Where the terms stand.
        numbers: The items, shape (n,).
        previous: The message before each; −1 without one.
        following: The message after each, likewise.
        scope: What is searched.
    """
    postings = matches.postings
    if not len(postings.term) or not len(numbers):
        return np.zeros(len(numbers))
    near = [(0, numbers), *_iter_nearby(snapshot, previous, -1, scope)]
    near += _iter_nearby(snapshot, following, 1, scope)
    items = np.stack([numbers_there for _, numbers_there in near])
    wanted = find_unique(items.ravel())
    wanted = wanted[wanted >= 0]
    places = _find_wanted_positions(postings.passages >> PART_BITS, wanted)[postings.slot]
    kept = np.flatnonzero(places >= 0)
    shape = len(postings.document_frequency), len(wanted)
    held = max_score_by_item(postings.term[kept], places[kept], matches.scores[kept], *shape)
    return score_windows(held, [steps for steps, _ in near], _find_columns(items, wanted))


def _iter_nearby(
    snapshot: Snapshot, first: Integers, step: Literal[-1, 1], scope: SearchFilter
) -> Iterator[tuple[int, Integers]]:
    """Yield the messages on one side up to `REACH` steps away, each time with how far."""
    numbers = first
    for steps in range(1, WINDOW_REACH + 1):
        if numbers.max() < 0:  # none has one: memories stand alone
            return
        yield steps, numbers
        if steps < WINDOW_REACH:
            numbers = _find_neighbours(snapshot, numbers, step, scope)


def _find_neighbours(
    snapshot: Snapshot, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter
) -> Integers:
    """Return the neighbours of items of which some may be −1; −1 for those."""
    found = np.full(len(numbers), -1, dtype=np.int64)
    there = np.flatnonzero(numbers >= 0)
    if len(there):
        found[there] = snapshot.neighbours(numbers[there], step, scope)
    return found


def _find_wanted_positions(items: Integers, wanted: Integers) -> Integers:
    """Return where each of ascending items, with repetitions, stands among those wanted; or −1."""
    places = np.full(len(items), -1, dtype=np.int64)
    first = np.searchsorted(items, wanted)
    counts = np.searchsorted(items, wanted, side="right") - first
    begins = np.cumsum(counts) - counts
    slots = np.arange(int(counts.sum())) + np.repeat(first - begins, counts)
    places[slots] = np.repeat(np.arange(len(wanted)), counts)
    return places


def _find_columns(numbers: Integers, wanted: Integers) -> Integers:
    """Return where numbers stand among ascending ones, which hold all of them; −1 for −1."""
    return np.where(numbers >= 0, np.searchsorted(wanted, numbers), -1)
