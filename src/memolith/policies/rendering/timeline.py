"""Memories as text for a prompt (profile `timeline`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.rendering.defusing import shown_name
from memolith.policies.rendering.lines import fitted, said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import Recalled
    from memolith.policies.rendering.model import Material

OPENING = "## Memory Context\n\n"


@dataclass(frozen=True, slots=True)
class KeyedRendering:
    """A heading, then a line each: its key, where it has one, and the text."""

    def render(
        self, material: Material, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[Recalled, ...]]:
        """Return the text and the results it shows; see `Rendering`."""
        lines = [_line(result) for result in material.results]
        text, places = fitted(OPENING, lines, "", budget, count)
        return text, tuple(material.results[place] for place in places)


def _line(result: Recalled) -> str:
    key = getattr(result.record, "key", None)
    name = f"{shown_name(key)}: " if key else ""
    return f"- {name}{said(result)}"
