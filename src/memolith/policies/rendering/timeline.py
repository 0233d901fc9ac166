"""Memories as text for a prompt (profile `timeline`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.rendering.defusing import escape_name
from memolith.policies.rendering.lines import fit_lines, render_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import RecalledItem
    from memolith.policies.rendering.model import RenderInput

TIMELINE_OPENING = "## Memory Context\n\n"


@dataclass(frozen=True, slots=True)
class KeyedRendering:
    """A heading, then a line each: its key, where it has one, and the text."""

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results it shows; see `Rendering`."""
        lines = [_render_keyed_line(result) for result in material.results]
        text, places = fit_lines(TIMELINE_OPENING, lines, "", budget, count)
        return text, tuple(material.results[place] for place in places)


def _render_keyed_line(result: RecalledItem) -> str:
    key = getattr(result.record, "key", None)
    name = f"{escape_name(key)}: " if key else ""
    return f"- {name}{render_result(result)}"
