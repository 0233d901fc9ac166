"""Memories as text for a prompt (profile `tiers`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.rendering.defusing import escape_text, render_document_lines
from memolith.policies.rendering.lines import fit_lines, get_claim_note, render_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.recall import RecalledItem
    from memolith.policies.rendering.model import RenderInput

BASE_MEMORY_HEADING = "[Long-term memory]"
MEMORIES_HEADING = "[Relevant memories]"
STATE_LABEL = "Current physical state"

_HEADING = re.compile(r"^(\s*)\[", re.MULTILINE)
_BRACKETS = str.maketrans("[]", "()")


@dataclass(frozen=True, slots=True)
class LayeredRendering:
    """The base memory, the relevant memories, and how things stand now; what is empty is left out.

    Where the budget does not hold all, memories are left out first, then the base memory as a
    whole, then the state.

    Attributes:
        state: What stands before the state.
    """

    state: str = STATE_LABEL

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results it shows; see `Rendering`."""
        base, state = self._frame(material, budget, count)
        results = sorted(material.results, key=lambda result: bool(get_claim_note(result)))
        lines = [f"- {render_result(result)}" for result in results]
        before = f"{base}\n\n" if base else ""
        after = f"\n\n{state}" if state else ""
        text, places = fit_lines(f"{before}{MEMORIES_HEADING}\n", lines, after, budget, count)
        if not places:
            return "\n\n".join(filter(None, (base, state))), ()
        return text, tuple(results[place] for place in places)

    def _frame(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, str]:
        """Return base memory and state, each empty where the budget does not hold it."""
        base, state = _render_base_memory(material.base_memory), self._state(material.state)
        for choice in ((base, state), ("", state), (base, "")):
            if count(["\n\n".join(filter(None, choice))])[0] <= budget:
                return choice
        return "", ""

    def _state(self, state: str) -> str:
        inside = " ".join(escape_text(state).split()).translate(_BRACKETS)
        return f"[{self.state}: {inside}]" if inside else ""


def _render_base_memory(base_memory: str) -> str:
    """Return the base memory under its heading: lines as they are, but none that is a heading."""
    lines = [_HEADING.sub(r"\1(", line) for line in render_document_lines(base_memory)]
    return "\n".join([BASE_MEMORY_HEADING, *lines]) if lines else ""
