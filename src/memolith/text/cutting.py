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
from memolith.text.sentences import stripped

# A stretch that is too long is cut to about this many parts of what fits, so that they fill what
# is made of them to more than three quarters. A guess: more parts fill better and cost more
# counting.
_PARTS_EACH = 4
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

Counted = tuple[Span, int]
"""A stretch, and its number of tokens."""

Cut = Callable[[str, Span, int], Iterable[int]]
"""Where to cut a stretch, strictly within it and in order; the number is of parts wanted."""


class Counter(Protocol):
    """What counts tokens; `memolith.ports.tokens.TokenCounter` is one."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Room:
    """What a stretch may cost: tokens and, where it is given, characters."""

    tokens: int
    chars: int | None = None

    def holds(self, span: Span, tokens: int) -> bool:
        """Tell whether a stretch of so many tokens fits."""
        return tokens <= self.tokens and self.may_hold(span)

    def may_hold(self, span: Span) -> bool:
        """Tell whether a stretch has not too many characters."""
        return self.chars is None or span.end - span.start <= self.chars

    def parts(self, span: Span, tokens: int) -> int:
        """Return to how many parts a stretch that does not fit is best cut."""
        by_tokens = -(-tokens * _PARTS_EACH // self.tokens)
        if self.chars is None:
            return by_tokens
        return max(by_tokens, -(-(span.end - span.start) * _PARTS_EACH // self.chars))


def counted(
    text: str, spans: Sequence[Span], counter: Counter, room: Room | None = None
) -> list[Counted]:
    """Return the spans with their counts, asked for at once.

    What has more characters than the room is not counted, but has 0: it does not fit anyway.
    """
    asked = [span for span in spans if room is None or room.may_hold(span)]
    counts = iter(counter.count([span.of(text) for span in asked]) if asked else [])
    return [(span, next(counts) if room is None or room.may_hold(span) else 0) for span in spans]


def cut_to_fit(
    text: str, units: list[Counted], counter: Counter, room: Room, cuts: Sequence[Cut]
) -> list[Counted]:
    """Return the units, those that do not fit cut by each way in turn, then at spaces.

    A word is cut only where it does not fit by itself; a single character is returned even then.
    """
    for cut in cuts:
        units = _finer(text, units, counter, room, cut)
    while not all(room.holds(*unit) for unit in units):
        finer = _finer(text, units, counter, room, _at_spaces)
        if len(finer) == len(units):
            break  # only single characters are too long now
        units = finer
    return units


def _finer(
    text: str, units: list[Counted], counter: Counter, room: Room, cut: Cut
) -> list[Counted]:
    """Replace the units that do not fit by their parts, counted together."""
    parts = [
        [span]
        if room.holds(span, tokens)
        else list(_parts(text, span, cut(text, span, room.parts(span, tokens))))
        for span, tokens in units
    ]
    counts = iter(
        counted(text, [span for group in parts if len(group) > 1 for span in group], counter, room)
    )
    finer: list[Counted] = []
    for unit, group in zip(units, parts, strict=True):
        finer += [unit] if len(group) == 1 else [next(counts) for _ in group]
    return finer


def _parts(text: str, span: Span, cuts: Iterable[int]) -> Iterator[Span]:
    for start, end in pairwise([span.start, *cuts, span.end]):
        yield from stripped(text, start, end)


def _at_spaces(text: str, span: Span, parts: int) -> list[int]:
    """Return at most `parts - 1` places for cuts, evenly spread: spaces, or any without spaces."""
    length = span.end - span.start
    even = [span.start + length * i // parts for i in range(1, parts)]
    spaces = [space.start() for space in _SPACE.finditer(text, span.start, span.end)]
    if spaces:
        return sorted({spaces[min(bisect_left(spaces, at), len(spaces) - 1)] for at in even})
    whole = {_between_words(text, at, span.end) for at in even} - {span.start, span.end}
    return sorted(whole or set(even) - {span.start})


def _between_words(text: str, at: int, end: int) -> int:
    """Return the next place that is in no word of a script with spaces, if there is one near."""
    for place in range(at, min(at + _MAX_WORD, end)):
        if not place or _IN_SPACED_WORD.match(text, place - 1) is None:
            return _between_letters(text, place, end)
    return _between_letters(text, at, end)


def _between_letters(text: str, at: int, end: int) -> int:
    """Return the next place that parts no letter from its marks and no joined emoji."""
    for place in range(at, min(at + _MAX_MARKS, end)):
        if parts_no_letter(text, place):
            return place
    return min(at + _MAX_MARKS, end)


def parts_no_letter(text: str, place: int) -> bool:
    """Tell whether a cut there parts no letter from its marks, and no joined emoji."""
    return text[place - 1] != _JOINER and not _is_mark(text[place])


def _is_mark(char: str) -> bool:
    return char == _JOINER or unicodedata.category(char)[0] == "M"
