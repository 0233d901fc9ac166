"""Building blocks of renderings: token budgets, escaping, lines and sections."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from memolith.domain.memories import Memory, Origin
from memolith.domain.recall import RecalledItem
from memolith.policies.trust import is_claim
from memolith.text.injection import is_suspicious

Counter = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class RenderInput:
    """The content of a prompt.

    Attributes:
        results: Recalled results, best first.
        base_memory: The owner's base memory, or "".
        state: The current state, as given by the caller, or "".
    """

    results: Sequence[RecalledItem]
    base_memory: str = ""
    state: str = ""


class Rendering(Protocol):
    """Formats results for a prompt. No text can close its section or imitate another."""

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return a text of at most `budget` tokens by `count`, and the results in it.

        Results come best first. One that does not fit is skipped, and the next is tried. Without
        any result the text is empty.
        """
        ...


# --- Token budgets


PROMPT_FACTOR = 1.1
"""Tokens of a chat model per word piece of the local tokenizer, with a margin of a tenth."""


def estimate_prompt_tokens(word_pieces: int) -> int:
    """Return the prompt tokens of that many word pieces."""
    return math.ceil(word_pieces * PROMPT_FACTOR)


def select_within_budget(costs: Sequence[int], budget: int, limit: int | None = None) -> list[int]:
    """Return the indexes of the items that fit the budget, in order, at most `limit`.

    Items that do not fit are skipped, not truncated.
    """
    places: list[int] = []
    remaining = budget
    for place, cost in enumerate(costs):
        if cost <= remaining and (limit is None or len(places) < limit):
            places.append(place)
            remaining -= cost
    return places


BYTES_PER_TOKEN = 4
"""Rule of thumb for English text, without a tokenizer."""


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Return the approximate tokens of each text, by its length in UTF-8."""
    return [math.ceil(len(text.encode()) / BYTES_PER_TOKEN) for text in texts]


# --- Escaping


QUOTED_LABEL = "[quoted, not an instruction]"
"""Label of a text that tries to instruct a model."""

_ESCAPED_TAG = "&lt;"
_TAG = re.compile(r"[<＜﹤](?=[/!?|｜a-zA-Z])")
_ROLE_MARK = re.compile(
    r"\[(?=/?(?:INST|SYS|SYSTEM(?:_PROMPT)?|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT))\b)",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def escape_text(text: str) -> str:
    """Return a text that cannot close its section, open a tag, or begin a line.

    Characters that open a tag become `&lt;`, further lines are indented, invisible and
    bidirectional characters are dropped. Harmless single lines are unchanged.
    """
    plain = _ROLE_MARK.sub("(", _TAG.sub(_ESCAPED_TAG, _INVISIBLE.sub("", text).strip()))
    return "\n".join(plain.splitlines()).replace("\n", "\n  ")


def escape_lines(document: str) -> list[str]:
    """Return the escaped lines of a document."""
    return [
        line[: len(line) - len(line.lstrip())] + escape_text(line)
        for line in document.strip().splitlines()
    ]


def render_document_lines(document: str) -> list[str]:
    """Return the lines of a document for a prompt; lines that instruct become quotations.

    Idempotent.
    """
    return [_render_document_line(line) for line in escape_lines(document)]


def escape_name(name: str) -> str:
    """Return the escaped name of a speaker or a memory.

    A name that tries to instruct a model, or imitates a part of the prompt, becomes a quotation.
    """
    plain = " ".join(escape_text(name).split())
    return quote_text(plain) if is_suspicious(name) or is_suspicious(f"{plain}: so") else plain


def _render_document_line(line: str) -> str:
    # An escaped tag must not be detected as a tag again.
    if not is_suspicious(line.replace(_ESCAPED_TAG, "(")):
        return line
    content = line.lstrip()
    bullet = "- " if content.startswith("- ") else ""
    words = content.removeprefix(bullet).removeprefix(QUOTED_LABEL).strip().strip('"')
    return f"{bullet}{quote_text(words)}"


def quote_text(text: str) -> str:
    """Return a suspicious text as a quotation of one line that nothing in it can close."""
    return f'{QUOTED_LABEL} "{" ".join(escape_text(text).split()).replace(chr(34), chr(39))}"'


# --- Lines


CLAIM_NOTES = {Origin.ASSISTANT: " (noted by the assistant)", Origin.IMPORT: " (imported)"}
"""Suffixes of memories that claim something about the user which the user did not say."""


def render_result(result: RecalledItem) -> str:
    """Return the escaped text of a result, with a note if it is a claim."""
    text = quote_text(result.text) if result.suspicious else escape_text(result.text)
    return text + get_claim_note(result)


def get_claim_note(result: RecalledItem) -> str:
    """Return the note of a claim about the user, or ""."""
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
    """Return opening, lines and closing as a text of at most `budget` tokens.

    Lines that do not fit are skipped.

    Returns:
        The text, and the indexes of its lines; the empty text if no line fits.
    """
    frame_cost = sum(count([opening, closing]))
    places = select_within_budget(count([f"{line}\n" for line in lines]), budget - frame_cost)
    text = _join_lines(opening, lines, closing, places)
    while places and count([text])[0] > budget:  # token counts are not additive
        places.pop()
        text = _join_lines(opening, lines, closing, places)
    return (text, places) if places else ("", [])


def _join_lines(opening: str, lines: Sequence[str], closing: str, places: Sequence[int]) -> str:
    return opening + "\n".join(lines[place] for place in places) + closing


# --- Sections


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the lines below it.

    Attributes:
        heading: One line.
        lines: Pairs of result index and text, in order of preference.
    """

    heading: str
    lines: Sequence[tuple[int, str]]


def fill_sections(
    sections: Sequence[Section], budget: int, count: Counter, max_chars: int | None = None
) -> tuple[str, list[int]]:
    """Return the text of sections, and the indexes of the results in it, ascending.

    Sections are filled in order. Lines that do not fit are skipped; the rest of the budget goes to
    the next section. Empty sections are omitted.

    Args:
        sections: The sections.
        budget: Maximum number of tokens by `count`.
        count: Counts the tokens of texts.
        max_chars: Maximum number of characters; None: no limit.
    """
    filling = _SectionFiller(budget, max_chars)
    for section in sections:
        filling.add(section, count)
    return filling.finish(count)


class _SectionFiller:
    def __init__(self, budget: int, max_chars: int | None) -> None:
        self._budget = budget
        self._max_chars = max_chars
        self._tokens = 0
        self._chars = -1  # the last line ends without a newline
        self._shown: list[tuple[str, int, str]] = []

    def add(self, section: Section, count: Counter) -> None:
        costs = count([f"{text}\n" for text in (section.heading, *(t for _, t in section.lines))])
        heading, is_open = costs[0], False
        for (place, text), cost in zip(section.lines, costs[1:], strict=True):
            tokens = cost + (0 if is_open else heading)
            chars = len(text) + 1 + (0 if is_open else len(section.heading) + 1)
            if self._fits(tokens, chars):
                self._tokens += tokens
                self._chars += chars
                self._shown.append((section.heading, place, text))
                is_open = True

    def _fits(self, tokens: int, chars: int) -> bool:
        is_short = self._max_chars is None or self._chars + chars <= self._max_chars
        return is_short and self._tokens + tokens <= self._budget

    def finish(self, count: Counter) -> tuple[str, list[int]]:
        text = self._text()
        while self._shown and count([text])[0] > self._budget:  # token counts are not additive
            self._shown.pop()
            text = self._text()
        return text, sorted(place for _, place, _ in self._shown)

    def _text(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        last = None
        for heading, _, text in self._shown:
            if heading != last:
                yield heading
            yield text
            last = heading
