"""Memories as text for a prompt (profile `chunks`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory
from memolith.policies.rendering.lines import fit_lines, render_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import RecalledItem
    from memolith.policies.rendering.model import RenderInput

CHUNKS_OPENING = "<memory>\n"
CHUNKS_CLOSING = "\n</memory>"

_LEADING_DATE = re.compile(
    r"[\[(]?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})\b"
)


@dataclass(frozen=True, slots=True)
class TaggedRendering:
    """One `<memory>` element, a line each: its kind in capitals, then the text.

    Attributes:
        dated: The kinds that begin with their date, where they don't already.
    """

    dated_kinds: frozenset[str] = frozenset({"episodic"})

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results it shows; see `Rendering`."""
        lines = [self._line(result) for result in material.results]
        text, places = fit_lines(CHUNKS_OPENING, lines, CHUNKS_CLOSING, budget, count)
        return text, tuple(material.results[place] for place in places)

    def _line(self, result: RecalledItem) -> str:
        return f"[{result.kind.upper()}] {self._date(result)}{render_result(result)}"

    def _date(self, result: RecalledItem) -> str:
        record = result.record
        if result.kind not in self.dated_kinds or _LEADING_DATE.match(result.text.lstrip()):
            return ""
        at = (record.happened_at or record.created_at) if isinstance(record, Memory) else record.at
        return f"{at:%Y-%m-%d}: " if at else ""
