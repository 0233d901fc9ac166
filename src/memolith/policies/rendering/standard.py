"""Memories as text for a prompt (profile `standard`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.domain.memories import Memory
from memolith.domain.messages import Message
from memolith.policies.rendering.defusing import (
    escape_name,
    escape_text,
    quote_text,
    render_document_lines,
)
from memolith.policies.rendering.lines import CLAIM_NOTES
from memolith.policies.trust import is_claim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memolith.domain.recall import RecalledItem
    from memolith.policies.rendering.model import RenderInput

STANDARD_OPENING = "<memory>"
STANDARD_CLOSING = "</memory>"


@dataclass(frozen=True, slots=True)
class SectionLine:
    """One line of a rendering: in which section, in which place there, and its text."""

    section: str
    order: tuple[float, int]
    text: str


def _format_speaker(message: Message) -> str:
    role = str(message.role or "user")
    name = message.speaker or role
    return role if name.casefold() == role else escape_name(name)


@dataclass(frozen=True, slots=True)
class SectionedRendering:
    """One `<memory>` element: base memory, memories by kind, passages of conversations by time.

    Attributes:
        headings: A section's kind to its heading, in the order of the sections.
        episodes: The heading of the passages.
    """

    headings: Mapping[str, str]
    episodes: str = "From earlier conversations"

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results it shows; see `Rendering`."""
        results = material.results
        lines = [self._line(result, place) for place, result in enumerate(results)]
        costs = count([f"{line.text}\n" for line in lines])
        heading_costs = dict(
            zip(
                self._titles(),
                count([f"{title}:\n" for title in self._titles()]),
                strict=True,
            )
        )
        used = sum(count([f"{STANDARD_OPENING}\n", STANDARD_CLOSING]))
        document = render_document_lines(material.base_memory)
        base = "\n".join(document)
        (base_cost,) = count([f"{base}\n"])
        if not base or used + base_cost > budget:
            document, base_cost = [], 0
        used += base_cost
        shown: list[int] = []
        sections: set[str] = set()
        for place, (line, cost) in enumerate(zip(lines, costs, strict=True)):
            heading = 0 if line.section in sections else heading_costs[line.section]
            if used + cost + heading <= budget:
                used += cost + heading
                shown.append(place)
                sections.add(line.section)
        text = self._text(document, [lines[place] for place in shown])
        while text and count([text])[0] > budget:  # a counter whose counts do not add up
            if shown:
                shown.pop()
            else:
                document = []
            text = self._text(document, [lines[place] for place in shown])
        return text, tuple(results[place] for place in shown)

    def _titles(self) -> list[str]:
        return list(dict.fromkeys([*self.headings.values(), self.episodes]))

    def _line(self, result: RecalledItem, place: int) -> SectionLine:
        record = result.record
        later = " (later changed)" if result.changed_later else ""
        if isinstance(record, Message):
            date = f"[{record.at:%Y-%m-%d}] " if record.at else ""
            who = _format_speaker(record)
            cut = "… " if result.passage.start > 0 else ""
            more = " …" if result.passage.end < len(record.content) else ""
            said = quote_text(result.text) if result.suspicious else escape_text(result.text)
            text = f"{date}{who}: {cut}{said}{more}{later}"
            when = record.at.timestamp() if record.at else 0.0
            return SectionLine(self.episodes, (when, record.sequence), f"- {text}")
        is_last = is_claim(record)
        claim = CLAIM_NOTES.get(record.origin, "") if is_last else ""
        told = quote_text(record.content) if result.suspicious else escape_text(record.content)
        on = record.happened_at or record.created_at
        text = f"- {told} ({on:%Y-%m-%d}){claim}{later}"
        return SectionLine(self._heading(record), (float(is_last), place), text)

    def _heading(self, memory: Memory) -> str:
        return self.headings.get(memory.kind, next(iter(self.headings.values())))

    def _text(self, document: Sequence[str], lines: Sequence[SectionLine]) -> str:
        if not (document or lines):
            return ""
        blocks = [STANDARD_OPENING, *document]
        for title in self._titles():
            section = sorted(
                (line for line in lines if line.section == title), key=lambda line: line.order
            )
            if section:
                blocks += [f"{title}:", *(line.text for line in section)]
        return "\n".join([*blocks, STANDARD_CLOSING])
