"""Memories as text for a prompt, and conversations for a model to read (profile `facts`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.items import Span
from memolith.domain.recall import RecalledItem, Score
from memolith.policies.budgeting import estimate_tokens
from memolith.policies.rendering.defusing import escape_text
from memolith.policies.rendering.filling import Section, fill_sections
from memolith.policies.rendering.lines import get_claim_note, render_result
from memolith.text.screening import screen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.domain.memories import Memory
    from memolith.policies.rendering.model import RenderInput

FACTS_HEADINGS = {
    "identity": "About the user:",
    "preference": "Preferences:",
    "project": "Current work:",
    "contextual": "Context:",
}

_EQUALS_ROW = re.compile(r"={3,}")


@dataclass(frozen=True, slots=True)
class FlowingRendering:
    """A section for each kind that has memories, the most lasting first.

    Attributes:
        headings: A kind to its heading, in the order of the sections; other kinds stand in the
            last.
    """

    headings: tuple[tuple[str, str], ...] = tuple(FACTS_HEADINGS.items())

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results it shows; see `Rendering`."""
        results = material.results
        text, shown = fill_sections(self._sections(results), budget, count)
        return text, tuple(results[place] for place in shown)

    def _sections(self, results: Sequence[RecalledItem]) -> list[Section]:
        known = [kind for kind, _ in self.headings]
        places: dict[str, list[int]] = {kind: [] for kind in known}
        for place in sorted(
            range(len(results)), key=lambda place: bool(get_claim_note(results[place]))
        ):
            kind = results[place].kind
            places[kind if kind in places else known[-1]].append(place)
        return [
            Section(
                heading, [(place, f"- {render_result(results[place])}") for place in places[kind]]
            )
            for kind, heading in self.headings
        ]


def format_memories(
    identity: Sequence[Memory],
    preference: Sequence[Memory],
    project: Sequence[Memory],
    contextual: Sequence[Memory],
    max_tokens: int,
    *,
    count: Callable[[Sequence[str]], list[int]] = estimate_tokens,
) -> str:
    """Return memories as text for a prompt: a section for each group that has any.

    Sections are filled in order, each with all that fits; what does not fit is skipped, and what
    one leaves of the budget flows to the next. No text can close its section, open a tag, or
    begin a line. Nothing to show is the empty text.

    Args:
        identity: Who the user is; each group in order of preference.
        preference: What they like.
        project: What they work on.
        contextual: How things stand.
        max_tokens: The budget.
        count: Counts tokens; by default an estimate, a token for every four bytes.
    """
    groups = zip(FACTS_HEADINGS.values(), (identity, preference, project, contextual), strict=True)
    sections = [
        Section(heading, [(0, f"- {render_result(_to_result(memory))}") for memory in memories])
        for heading, memories in groups
    ]
    return fill_sections(sections, max_tokens, count)[0]


def _to_result(memory: Memory) -> RecalledItem:
    whole = Span(0, len(memory.content))
    suspicious = screen(memory.content).suspicious
    return RecalledItem(memory, Score(0.0), whole, 0, suspicious=suspicious)


def format_conversation(user: str, assistant: str = "") -> str:
    """Return an exchange as a model may read it: "User: …", and "Assistant: …" under it.

    Nothing in it can close what it is put between: tags are taken apart, further lines are
    indented, and no row of more than two equals signs is left.
    """
    said = [("User", user), ("Assistant", assistant)]
    return "\n".join(
        f"{who}: {_EQUALS_ROW.sub('--', escape_text(text))}" for who, text in said if text
    )
