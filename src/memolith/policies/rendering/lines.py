"""Memories as single lines between an opening and a closing, as many as a budget holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, Origin
from memolith.policies.budgeting import taken
from memolith.policies.rendering.defusing import defuse, fenced
from memolith.policies.trust import is_claim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import Recalled

CLAIMS = {Origin.ASSISTANT: " (noted by the assistant)", Origin.IMPORT: " (imported)"}
"""What stands behind a memory that says of the user what the user did not say; it comes last."""


def said(result: Recalled) -> str:
    """Return what a result says, made harmless, and whose claim it is where it is one."""
    text = fenced(result.text) if result.suspicious else defuse(result.text)
    return text + claim_of(result)


def claim_of(result: Recalled) -> str:
    """Return what stands behind a result that says of the user what the user did not say."""
    record = result.record
    if not isinstance(record, Memory) or not is_claim(record):
        return ""
    return CLAIMS.get(record.origin, "")


def fitted(
    opening: str,
    lines: Sequence[str],
    closing: str,
    budget: int,
    count: Callable[[Sequence[str]], list[int]],
) -> tuple[str, list[int]]:
    """Return opening, lines and closing as one text of at most `budget` tokens.

    What does not fit is skipped and the next is tried.

    Returns:
        The text, and the places of the lines in it; the empty text where none fits.
    """
    frame = sum(count([opening, closing]))
    places = taken(count([f"{line}\n" for line in lines]), budget - frame)
    text = _joined(opening, lines, closing, places)
    while places and count([text])[0] > budget:  # a counter whose counts do not add up
        places.pop()
        text = _joined(opening, lines, closing, places)
    return (text, places) if places else ("", [])


def _joined(opening: str, lines: Sequence[str], closing: str, places: Sequence[int]) -> str:
    return opening + "\n".join(lines[place] for place in places) + closing
