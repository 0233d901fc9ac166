"""The prompt formats of all profiles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memolith.domain.memories import Memory, Span
from memolith.domain.messages import Message
from memolith.domain.recall import RecalledItem, Score
from memolith.policies.rendering.layout import (
    CLAIM_NOTES,
    RenderInput,
    Section,
    escape_name,
    escape_text,
    estimate_tokens,
    fill_sections,
    fit_lines,
    get_claim_note,
    quote_text,
    render_document_lines,
    render_result,
)
from memolith.policies.trust import is_claim
from memolith.text.screening import screen

STANDARD_OPENING = "<memory>"
STANDARD_CLOSING = "</memory>"


@dataclass(frozen=True, slots=True)
class SectionLine:
    """A line of a rendering: its section, its position there, and its text."""

    section: str
    order: tuple[float, int]
    text: str


def _format_speaker(message: Message) -> str:
    role = str(message.role or "user")
    name = message.speaker or role
    return role if name.casefold() == role else escape_name(name)


@dataclass(frozen=True, slots=True)
class SectionedRendering:
    """One `<memory>` element: base memory, memories by kind, conversations by time (`standard`).

    Attributes:
        headings: Headings by kind, in the order of the sections.
        episodes: Heading of the conversations.
    """

    headings: Mapping[str, str]
    episodes: str = "From earlier conversations"

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results in it; see `Rendering`."""
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
        selected: list[int] = []
        sections: set[str] = set()
        for place, (line, cost) in enumerate(zip(lines, costs, strict=True)):
            heading = 0 if line.section in sections else heading_costs[line.section]
            if used + cost + heading <= budget:
                used += cost + heading
                selected.append(place)
                sections.add(line.section)
        text = self._text(document, [lines[place] for place in selected])
        while text and count([text])[0] > budget:  # token counts are not additive
            if selected:
                selected.pop()
            else:
                document = []
            text = self._text(document, [lines[place] for place in selected])
        return text, tuple(results[place] for place in selected)

    def _titles(self) -> list[str]:
        return list(dict.fromkeys([*self.headings.values(), self.episodes]))

    def _line(self, result: RecalledItem, place: int) -> SectionLine:
        record = result.record
        later = " (later changed)" if result.changed_later else ""
        if isinstance(record, Message):
            date = f"[{record.at:%Y-%m-%d}] " if record.at else ""
            speaker = _format_speaker(record)
            cut = "… " if result.passage.start > 0 else ""
            ellipsis = " …" if result.passage.end < len(record.content) else ""
            quoted = quote_text(result.text) if result.suspicious else escape_text(result.text)
            text = f"{date}{speaker}: {cut}{quoted}{ellipsis}{later}"
            timestamp = record.at.timestamp() if record.at else 0.0
            return SectionLine(self.episodes, (timestamp, record.sequence), f"- {text}")
        is_last = is_claim(record)
        note = CLAIM_NOTES.get(record.origin, "") if is_last else ""
        content = quote_text(record.content) if result.suspicious else escape_text(record.content)
        on = record.happened_at or record.created_at
        text = f"- {content} ({on:%Y-%m-%d}){note}{later}"
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


# --- `companion`


COMPANION_PREAMBLE = (
    "These are known facts from earlier conversations with the user."
    " Treat them as true, and use them in your answer where they matter:"
)


@dataclass(frozen=True, slots=True)
class PriorityRendering:
    """A preamble, then one line per memory, by the priority of its kind (`companion`).

    Attributes:
        kinds: The profile's kinds, highest priority first.
        max_chars: Maximum length in characters, including the preamble.
    """

    kinds: tuple[str, ...]
    max_chars: int

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results in it; see `Rendering`."""
        results = material.results
        ranked = sorted(range(len(results)), key=lambda place: (*self._rank(results[place]), place))
        lines = [(place, f"- {render_result(results[place])}") for place in ranked]
        text, selected = fill_sections(
            [Section(COMPANION_PREAMBLE, lines)], budget, count, self.max_chars
        )
        return text, tuple(results[place] for place in selected)

    def _rank(self, result: RecalledItem) -> tuple[int, bool]:
        kinds = self.kinds
        place = kinds.index(result.kind) if result.kind in kinds else len(kinds)
        return place, bool(get_claim_note(result))


# --- `facts`


FACTS_HEADINGS = {
    "identity": "About the user:",
    "preference": "Preferences:",
    "project": "Current work:",
    "contextual": "Context:",
}

_EQUALS_ROW = re.compile(r"={3,}")


@dataclass(frozen=True, slots=True)
class FlowingRendering:
    """One section per kind, the most permanent first (`facts`).

    Attributes:
        headings: Pairs of kind and heading, in the order of the sections; other kinds go to the
            last.
    """

    headings: tuple[tuple[str, str], ...] = tuple(FACTS_HEADINGS.items())

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results in it; see `Rendering`."""
        results = material.results
        text, selected = fill_sections(self._sections(results), budget, count)
        return text, tuple(results[place] for place in selected)

    def _sections(self, results: Sequence[RecalledItem]) -> list[Section]:
        kinds = [kind for kind, _ in self.headings]
        places: dict[str, list[int]] = {kind: [] for kind in kinds}
        for place in sorted(
            range(len(results)), key=lambda place: bool(get_claim_note(results[place]))
        ):
            kind = results[place].kind
            places[kind if kind in places else kinds[-1]].append(place)
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
    """Return memories as text for a prompt, one section per group.

    Sections are filled in order. Memories that do not fit are skipped; the rest of the budget goes
    to the next section. No text can close its section, open a tag, or begin a line. Without any
    memory the text is empty.

    Args:
        identity: Facts about the user; each group in order of preference.
        preference: Preferences.
        project: Current projects.
        contextual: Temporary context.
        max_tokens: The budget.
        count: Counts tokens; by default an estimate of one token per four bytes.
    """
    groups = zip(FACTS_HEADINGS.values(), (identity, preference, project, contextual), strict=True)
    sections = [
        Section(heading, [(0, f"- {render_result(_to_result(memory))}") for memory in memories])
        for heading, memories in groups
    ]
    return fill_sections(sections, max_tokens, count)[0]


def _to_result(memory: Memory) -> RecalledItem:
    span = Span(0, len(memory.content))
    suspicious = screen(memory.content).suspicious
    return RecalledItem(memory, Score(0.0), span, 0, suspicious=suspicious)


def format_conversation(user: str, assistant: str = "") -> str:
    """Return an exchange for a model to read: "User: …", then "Assistant: …".

    No text can close the surrounding delimiters: tags are escaped, further lines are indented, and
    rows of more than two equals signs are replaced.
    """
    turns = [("User", user), ("Assistant", assistant)]
    return "\n".join(
        f"{speaker}: {_EQUALS_ROW.sub('--', escape_text(text))}" for speaker, text in turns if text
    )


# --- `chunks`


CHUNKS_OPENING = "<memory>\n"
CHUNKS_CLOSING = "\n</memory>"

_LEADING_DATE = re.compile(
    r"[\[(]?(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})\b"
)


@dataclass(frozen=True, slots=True)
class TaggedRendering:
    """One `<memory>` element with one line per memory: kind in capitals, then text (`chunks`).

    Attributes:
        dated_kinds: Kinds that are prefixed with their date, unless the text begins with one.
    """

    dated_kinds: frozenset[str] = frozenset({"episodic"})

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results in it; see `Rendering`."""
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


# --- `tiers`


BASE_MEMORY_HEADING = "[Long-term memory]"
MEMORIES_HEADING = "[Relevant memories]"
STATE_LABEL = "Current physical state"

_HEADING = re.compile(r"^(\s*)\[", re.MULTILINE)
_BRACKETS = str.maketrans("[]", "()")


@dataclass(frozen=True, slots=True)
class LayeredRendering:
    """Base memory, relevant memories, and current state; empty parts are omitted (`tiers`).

    If the budget is exceeded, memories are dropped first, then the whole base memory, then the
    state.

    Attributes:
        state: Label of the state.
    """

    state: str = STATE_LABEL

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results in it; see `Rendering`."""
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
        """Return base memory and state; empty if they exceed the budget."""
        base, state = _render_base_memory(material.base_memory), self._state(material.state)
        for choice in ((base, state), ("", state), (base, "")):
            if count(["\n\n".join(filter(None, choice))])[0] <= budget:
                return choice
        return "", ""

    def _state(self, state: str) -> str:
        inside = " ".join(escape_text(state).split()).translate(_BRACKETS)
        return f"[{self.state}: {inside}]" if inside else ""


def _render_base_memory(base_memory: str) -> str:
    """Return the base memory below its heading; its lines cannot imitate headings."""
    lines = [_HEADING.sub(r"\1(", line) for line in render_document_lines(base_memory)]
    return "\n".join([BASE_MEMORY_HEADING, *lines]) if lines else ""


# --- `timeline`


TIMELINE_OPENING = "## Memory Context\n\n"


@dataclass(frozen=True, slots=True)
class KeyedRendering:
    """A heading, then one line per memory: its key, if any, and the text (`timeline`)."""

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text and the results in it; see `Rendering`."""
        lines = [_render_keyed_line(result) for result in material.results]
        text, places = fit_lines(TIMELINE_OPENING, lines, "", budget, count)
        return text, tuple(material.results[place] for place in places)


def _render_keyed_line(result: RecalledItem) -> str:
    key = getattr(result.record, "key", None)
    name = f"{escape_name(key)}: " if key else ""
    return f"- {name}{render_result(result)}"
