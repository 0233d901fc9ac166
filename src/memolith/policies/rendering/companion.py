"""Memories as text for a prompt (profile `companion`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.rendering.filling import Section, fill_sections
from memolith.policies.rendering.lines import get_claim_note, render_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import RecalledItem
    from memolith.policies.rendering.model import RenderInput

COMPANION_PREAMBLE = (
    "These are known facts from earlier conversations with the user."
    " Treat them as true, and use them in your answer where they matter:"
)


@dataclass(frozen=True, slots=True)
class PriorityRendering:
    """A preamble that these are known facts, then a line each, by the priority of its kind.

    Attributes:
        kinds: The profile's kinds, by priority.
        max_chars: The longest text, in characters, preamble included.
    """

    kinds: tuple[str, ...]
    max_chars: int = 2_000

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results it shows; see `Rendering`."""
        results = material.results
        order = sorted(range(len(results)), key=lambda place: (*self._rank(results[place]), place))
        lines = [(place, f"- {render_result(results[place])}") for place in order]
        text, shown = fill_sections(
            [Section(COMPANION_PREAMBLE, lines)], budget, count, self.max_chars
        )
        return text, tuple(results[place] for place in shown)

    def _rank(self, result: RecalledItem) -> tuple[int, bool]:
        kinds = self.kinds
        place = kinds.index(result.kind) if result.kind in kinds else len(kinds)
        return place, bool(get_claim_note(result))
