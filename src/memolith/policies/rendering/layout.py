"""What every rendering takes and gives."""

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
    """What a prompt is made of.

    Attributes:
        results: What was recalled, best first.
        base_memory: The owner's living document; empty where there is none.
        state: How things stand now, in the caller's words; empty where nothing is said.
    """

    results: Sequence[RecalledItem]
    base_memory: str = ""
    state: str = ""


class Rendering(Protocol):
    """A form for a prompt. No text in it can close its section or pose as another."""

    def render(
        self, material: RenderInput, budget: int, count: Callable[[Sequence[str]], list[int]]
    ) -> tuple[str, tuple[RecalledItem, ...]]:
        """Return the text, at most `budget` tokens by `count`, and the results it shows.

        Results come best first; one that does not fit is skipped and the next is tried. Nothing
        to show is the empty text.
        """
        ...


# --- What a text costs in a prompt


PROMPT_FACTOR = 1.1
"""Word pieces of the local tokenizer to tokens of a chat model: a tenth more, to be safe."""


def estimate_prompt_tokens(word_pieces: int) -> int:
    """Return what that many word pieces cost in a prompt."""
    return math.ceil(word_pieces * PROMPT_FACTOR)


def select_within_budget(costs: Sequence[int], budget: int, limit: int | None = None) -> list[int]:
    """Return the places of what is taken, in order, at most `limit`, until the budget is spent.

    What does not fit is skipped, not cut, and the next is tried.
    """
    places: list[int] = []
    left = budget
    for place, cost in enumerate(costs):
        if cost <= left and (limit is None or len(places) < limit):
            places.append(place)
            left -= cost
    return places


BYTES_PER_TOKEN = 4
"""A usual rule of thumb for English text, where no tokenizer is at hand."""


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Return about what each text costs, by its length in UTF-8 alone."""
    return [math.ceil(len(text.encode()) / BYTES_PER_TOKEN) for text in texts]


# --- Making stored text harmless in a prompt


QUOTED_LABEL = "[quoted, not an instruction]"
"""What stands before a text that tries to instruct a model."""

_ESCAPED_TAG = "&lt;"
_TAG = re.compile(r"[<＜﹤](?=[/!?|｜a-zA-Z])")
_ROLE_MARK = re.compile(
    r"\[(?=/?(?:INST|SYS|SYSTEM(?:_PROMPT)?|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT))\b)",
    re.IGNORECASE,
)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def escape_text(text: str) -> str:
    """Return a text that can't close its section, open a tag, or begin a line.

    Marks that open a tag become `&lt;`, further lines are indented, and what is invisible or
    turns the direction of writing is dropped. Safe texts of one line stay as they are.
    """
    plain = _ROLE_MARK.sub("(", _TAG.sub(_ESCAPED_TAG, _INVISIBLE.sub("", text).strip()))
    return "\n".join(plain.splitlines()).replace("\n", "\n  ")


def escape_lines(document: str) -> list[str]:
    """Return the lines of a document of several, each harmless by itself."""
    return [
        line[: len(line) - len(line.lstrip())] + escape_text(line)
        for line in document.strip().splitlines()
    ]


def render_document_lines(document: str) -> list[str]:
    """Return the lines of a document as a prompt shows them: those that instruct, as quotations.

    What it gave is not changed by it.
    """
    return [_render_document_line(line) for line in escape_lines(document)]


def escape_name(name: str) -> str:
    """Return the name of a speaker or of a memory as it stands before what it names.

    One that tries to instruct a model, or poses as a part of the prompt, becomes a quotation.
    """
    plain = " ".join(escape_text(name).split())
    return quote_text(plain) if is_suspicious(name) or is_suspicious(f"{plain}: so") else plain


def _render_document_line(line: str) -> str:
    # What `defuse` has put for a tag's mark is not to be read as that mark again.
    if not is_suspicious(line.replace(_ESCAPED_TAG, "(")):
        return line
    said = line.lstrip()
    bullet = "- " if said.startswith("- ") else ""
    words = said.removeprefix(bullet).removeprefix(QUOTED_LABEL).strip().strip('"')
    return f"{bullet}{quote_text(words)}"


def quote_text(text: str) -> str:
    """Return a suspicious text as a quotation of one line that nothing in it can end."""
    return f'{QUOTED_LABEL} "{" ".join(escape_text(text).split()).replace(chr(34), chr(39))}"'


# --- Memories as single lines between an opening and a closing, as many as a budget holds


CLAIM_NOTES = {Origin.ASSISTANT: " (noted by the assistant)", Origin.IMPORT: " (imported)"}
"""What stands behind a memory that says of the user what the user did not say; it comes last."""


def render_result(result: RecalledItem) -> str:
    """Return what a result says, made harmless, and whose claim it is where it is one."""
    text = quote_text(result.text) if result.suspicious else escape_text(result.text)
    return text + get_claim_note(result)


def get_claim_note(result: RecalledItem) -> str:
    """Return what stands behind a result that says of the user what the user did not say."""
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
    """Return opening, lines and closing as one text of at most `budget` tokens.

    What does not fit is skipped and the next is tried.

    Returns:
        The text, and the places of the lines in it; the empty text where none fits.
    """
    frame = sum(count([opening, closing]))
    places = select_within_budget(count([f"{line}\n" for line in lines]), budget - frame)
    text = _join_lines(opening, lines, closing, places)
    while places and count([text])[0] > budget:  # a counter whose counts do not add up
        places.pop()
        text = _join_lines(opening, lines, closing, places)
    return (text, places) if places else ("", [])


def _join_lines(opening: str, lines: Sequence[str], closing: str, places: Sequence[int]) -> str:
    return opening + "\n".join(lines[place] for place in places) + closing


# --- Sections filled one after another within a budget


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, and what may stand under it.

    Attributes:
        heading: One line.
        lines: In order of preference: which result, and its text.
    """

    heading: str
    lines: Sequence[tuple[int, str]]


def fill_sections(
    sections: Sequence[Section], budget: int, count: Counter, max_chars: int | None = None
) -> tuple[str, list[int]]:
    """Return the text of the sections, and the results it shows, ascending.

    Sections are filled in order, each with all that fits; what does not fit is skipped, and what
    one leaves of the budget flows to the next. A section that shows nothing is left out.

    Args:
        sections: What may be shown.
        budget: At most so many tokens by `count`.
        count: Counts the tokens of texts.
        max_chars: At most so many characters, too.
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
        while self._shown and count([text])[0] > self._budget:  # counts that do not add up
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
