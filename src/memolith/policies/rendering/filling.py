"""Sections filled one after another within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Counter = Callable[[Sequence[str]], list[int]]


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
