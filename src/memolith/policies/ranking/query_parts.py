"""Expressions that read a question, in parts: each is made when a question may need it.

One for all of them takes a program's first question some milliseconds, of which most questions
need but a part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memolith.text.expressions import expression

if TYPE_CHECKING:
    from collections.abc import Iterable

Part = tuple[tuple[str, ...], re.Pattern[str]]
"""Signs, in small letters, and an expression: in ASCII it finds nothing without one of them."""


def part(signs: str, pattern: str) -> Part:
    """Return a part: its signs with | between, its pattern verbose, in letters of any case."""
    return tuple(signs.split("|")), expression(pattern, re.IGNORECASE | re.VERBOSE)


def needed(text: str, parts: Iterable[Part]) -> list[re.Pattern[str]]:
    """Return the expressions that may find something in a text, in their order."""
    # Without regard to case letters beyond ASCII are found too: "ſ" for "s", "ı" for "i".
    is_plain, small = text.isascii(), text.lower()
    holds = small.__contains__
    return [pattern for signs, pattern in parts if not is_plain or any(map(holds, signs))]


def finds(text: str, *parts: Part) -> bool:
    """Tell whether one of the expressions finds something in a text."""
    return any(each.search(text) for each in needed(text, parts))
