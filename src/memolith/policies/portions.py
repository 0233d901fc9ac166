"""Much that is to be worked on in portions: how it is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def get_portion_size(count: int, size: int) -> int:
    """Return how many of so many are taken at once, so that less than `size` is never left."""
    return count if count < 2 * size else size


def split_into_parts(
    lengths: Sequence[int], part_size: int, max_parts: int
) -> list[tuple[int, int]]:
    """Cut texts, in order, into parts that fit a room, each of one text at least.

    Args:
        lengths: Of the texts.
        room: How much a part may hold, if there are not too many parts.
        most: The most parts, at least 1.

    Returns:
        The place of the first text of each part, and the place after its last; one part of none.
    """
    each = max(part_size, -(-2 * sum(lengths) // max_parts))
    found: list[tuple[int, int]] = []
    start = held = 0
    for place, length in enumerate(lengths):
        if place > start and held + length > each:
            found.append((start, place))
            start, held = place, 0
        held += length
    return [*found, (start, len(lengths))]
