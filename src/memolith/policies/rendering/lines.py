"""Memories as single lines between an opening and a closing, as many as a budget holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.domain.memories import Memory, Origin
from memolith.policies.budgeting import select_within_budget
from memolith.policies.rendering.defusing import escape_text, quote_text
from memolith.policies.trust import is_claim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import RecalledItem

CLAIM_NOTES = {Origin.ASSISTANT: " (noted by the assistant)", Origin.IMPORT: " (imported)"}
"""What stands behind a memory that says of the user what the user did not say; it comes last."""


def render_result(result: RecalledItem) -> str:
    """Return what a result says, made harmless, and whose claim it is where it is one."""
    text = quote_text(result.text) if result.suspicious else escape_text(result.text)
    return text + get_claim_note(result)


def get_claim_note(result: RecalledItem) -> str:
    """Return what stands behind a result that says of the user what the user did not say."""
    record = result.record
    if not isinstance(record, Memory) or not is_claim(record):
        return ""
    return CLAIM_NOTES.get(record.origin, "")


def fit_lines(
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
    places = select_within_budget(count([f"{line}\n" for line in lines]), budget - frame)
    text = _join_lines(opening, lines, closing, places)
    while places and count([text])[0] > budget:  # a counter whose counts do not add up
        places.pop()
        text = _join_lines(opening, lines, closing, places)
    return (text, places) if places else ("", [])


def _join_lines(opening: str, lines: Sequence[str], closing: str, places: Sequence[int]) -> str:
    return opening + "\n".join(lines[place] for place in places) + closing
