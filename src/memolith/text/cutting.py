"""Cutting a text into stretches that fit, finer and finer: what passages and chunks share."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from memolith.domain.items import Span
from memolith.text.sentences import strip_span

# A stretch that is too long is cut to about this many parts of what fits, so that they fill what
# is made of them to more than three quarters. A guess: more parts fill better and cost more
# counting.
_PARTS_PER_LIMIT = 4
# How far a cut within a stretch without spaces moves, to not part a letter from its marks, nor a
# word of a script that has spaces. Guesses: runs of marks and words are shorter.
_MAX_MARKS = 16
_MAX_WORD = 40

_SPACE = re.compile(r"\s+")
_JOINER = "\u200d"
# Scripts whose words have spaces between them: Latin, Greek, Cyrillic, and digits.
_IN_SPACED_WORD = re.compile(
    "[0-9A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f][0-9A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f]"
)

CountedSpan = tuple[Span, int]
"""A stretch, and its number of tokens."""

CutStrategy = Callable[[str, Span, int], Iterable[int]]
"""Where to cut a stretch, strictly within it and in order; the number is of parts wanted."""


class Counter(Protocol):
    """What counts tokens; `memolith.ports.tokens.TokenCounter` is one."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        ...


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """What a stretch may cost: tokens and, where it is given, characters."""

    tokens: int
    chars: int | None = None

    def can_hold(self, span: Span, tokens: int) -> bool:
        """Tell whether a stretch of so many tokens fits."""
        return tokens <= self.tokens and self.can_hold_chars(span)

    def can_hold_chars(self, span: Span) -> bool:
        """Tell whether a stretch has not too many characters."""
        return self.chars is None or span.end - span.start <= self.chars

    def count_parts(self, span: Span, tokens: int) -> int:
        """Return to how many parts a stretch that does not fit is best cut."""
        by_tokens = -(-tokens * _PARTS_PER_LIMIT // self.tokens)
        if self.chars is None:
            return by_tokens
        return max(by_tokens, -(-(span.end - span.start) * _PARTS_PER_LIMIT // self.chars))


def count_span_tokens(
    text: str, spans: Sequence[Span], counter: Counter, limit: SizeLimit | None = None
) -> list[CountedSpan]:
    """Return the spans with their counts, asked for at once.

    What has more characters than the room is not counted, but has 0: it does not fit anyway.
    """
    asked = [span for span in spans if limit is None or limit.can_hold_chars(span)]
    counts = iter(counter.count([span.extract(text) for span in asked]) if asked else [])
    return [
        (span, next(counts) if limit is None or limit.can_hold_chars(span) else 0) for span in spans
    ]


def cut_to_fit(
    text: str,
    units: list[CountedSpan],
    counter: Counter,
    limit: SizeLimit,
    cuts: Sequence[CutStrategy],
) -> list[CountedSpan]:
    """Return the units, those that do not fit cut by each way in turn, then at spaces.

    A word is cut only where it does not fit by itself; a single character is returned even then.
    """
    for cut in cuts:
        units = _split_oversized(text, units, counter, limit, cut)
    while not all(limit.can_hold(*unit) for unit in units):
        finer = _split_oversized(text, units, counter, limit, _find_space_cuts)
        if len(finer) == len(units):
            break  # only single characters are too long now
        units = finer
    return units


def _split_oversized(
    text: str, units: list[CountedSpan], counter: Counter, limit: SizeLimit, cut: CutStrategy
) -> list[CountedSpan]:
    """Replace the units that do not fit by their parts, counted together."""
    parts = [
        [span]
        if limit.can_hold(span, tokens)
        else list(_split_at(text, span, cut(text, span, limit.count_parts(span, tokens))))
        for span, tokens in units
    ]
    counts = iter(
        count_span_tokens(
            text, [span for group in parts if len(group) > 1 for span in group], counter, limit
        )
    )
    finer: list[CountedSpan] = []
    for unit, group in zip(units, parts, strict=True):
        finer += [unit] if len(group) == 1 else [next(counts) for _ in group]
    return finer


def _split_at(text: str, span: Span, cuts: Iterable[int]) -> Iterator[Span]:
    for start, end in pairwise([span.start, *cuts, span.end]):
        yield from strip_span(text, start, end)


def _find_space_cuts(text: str, span: Span, parts: int) -> list[int]:
    """Return at most `parts - 1` places for cuts, evenly spread: spaces, or any without spaces."""
    length = span.end - span.start
    even = [span.start + length * i // parts for i in range(1, parts)]
    spaces = [space.start() for space in _SPACE.finditer(text, span.start, span.end)]
    if spaces:
        return sorted({spaces[min(bisect_left(spaces, at), len(spaces) - 1)] for at in even})
    whole = {_find_word_boundary(text, at, span.end) for at in even} - {span.start, span.end}
    return sorted(whole or set(even) - {span.start})


def _find_word_boundary(text: str, at: int, end: int) -> int:
    """Return the next place that is in no word of a script with spaces, if there is one near."""
    for place in range(at, min(at + _MAX_WORD, end)):
        if not place or _IN_SPACED_WORD.match(text, place - 1) is None:
            return _find_letter_boundary(text, place, end)
    return _find_letter_boundary(text, at, end)


def _find_letter_boundary(text: str, at: int, end: int) -> int:
    """Return the next place that parts no letter from its marks and no joined emoji."""
    for place in range(at, min(at + _MAX_MARKS, end)):
        if is_letter_boundary(text, place):
            return place
    return min(at + _MAX_MARKS, end)


def is_letter_boundary(text: str, place: int) -> bool:
    """Tell whether a cut there parts no letter from its marks, and no joined emoji."""
    return text[place - 1] != _JOINER and not _is_mark(text[place])


def _is_mark(char: str) -> bool:
    return char == _JOINER or unicodedata.category(char)[0] == "M"
