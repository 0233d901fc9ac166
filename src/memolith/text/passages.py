"""Cutting a text into stretches that fit, finer and finer: what passages and chunks share."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from memolith.domain.memories import Span
from memolith.errors import InvalidInput
from memolith.text.segmentation import sentences, strip_span

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
    """What counts tokens; `memolith.ports.models.TokenCounter` is one."""

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


# --- Passages: a text cut into pieces that fit an embedder's window


MAX_PASSAGES = 65_535
"""The most passages a text may have: a passage's number is stored in two bytes."""

# Texts up to this length are first tried whole. Longer ones rarely fit any window: a guess.
_WHOLE_CHARS = 4_000

_CLAUSE_END = re.compile(r"[,;:](?=\s)|[–—]|[，、；：]")


def passages(text: str, counter: Counter, *, max_tokens: int = 112) -> list[tuple[Span, int]]:
    """Cut a text into passages of at most `max_tokens`, each with its count, in order.

    Passages end where sentences or lines do; a longer sentence is cut after a clause, then at a
    space, and only a word that is too long by itself within. They hold all that is not white
    space. A single character that costs more than `max_tokens` is a passage nevertheless.

    Args:
        text: Cleaned text, at most 1 MB.
        counter: Called a handful of times, with many texts each.
        max_tokens: From 1. The default leaves room for a speaker's name in a window of 128
            (measured best on conversations: the design's notes on quality, section 1).

    Raises:
        InvalidInput: `max_tokens` is under 1, or more than 65,535 passages would be needed.
    """
    if max_tokens < 1:
        raise InvalidInput("max_tokens", f"is {max_tokens}; the least is 1")
    if len(text) <= _WHOLE_CHARS:
        whole = count_span_tokens(text, list(strip_span(text, 0, len(text))), counter)
        if all(tokens <= max_tokens for _, tokens in whole):
            return whole
    groups = _pack_units(_split_units(text, counter, max_tokens), max_tokens)
    if len(groups) > MAX_PASSAGES:
        raise InvalidInput("content", f"needs {len(groups):,} passages; the limit is 65,535")
    return _verify_groups(text, groups, counter, max_tokens)


def _split_units(text: str, counter: Counter, max_tokens: int) -> list[CountedSpan]:
    """Return sentences, and parts of those that are too long: what is put into passages whole."""
    units = count_span_tokens(text, sentences(text), counter)
    return cut_to_fit(text, units, counter, SizeLimit(max_tokens), [_find_clause_ends])


def _find_clause_ends(text: str, span: Span, _parts: int) -> list[int]:
    return [mark.end() for mark in _CLAUSE_END.finditer(text, span.start, span.end)]


def _pack_units(units: list[CountedSpan], max_tokens: int) -> list[list[CountedSpan]]:
    """Group the units greedily, in order."""
    groups: list[list[CountedSpan]] = []
    room = 0
    for unit in units:
        if groups and unit[1] <= room:
            groups[-1].append(unit)
        else:
            groups.append([unit])
            room = max_tokens
        room -= unit[1]
    return groups


def _verify_groups(
    text: str, groups: list[list[CountedSpan]], counter: Counter, max_tokens: int
) -> list[CountedSpan]:
    """Return each group as one passage, halving those whose joined text counts too much.

    A joined stretch may cost more than its units: a counter may count the space between them.
    """
    joined = _join_groups(text, groups, counter)
    fitting = [passage for passage, group in joined if passage[1] <= max_tokens or len(group) == 1]
    halves = [
        half
        for passage, group in joined
        if passage[1] > max_tokens and len(group) > 1
        for half in (group[: len(group) // 2], group[len(group) // 2 :])
    ]
    if not halves:
        return fitting
    mended = _verify_groups(text, halves, counter, max_tokens)
    return sorted([*fitting, *mended], key=lambda passage: passage[0].start)


def _join_groups(
    text: str, groups: list[list[CountedSpan]], counter: Counter
) -> list[tuple[CountedSpan, list[CountedSpan]]]:
    """Return each group's whole stretch, with its own count, beside the group."""
    spans = [Span(group[0][0].start, group[-1][0].end) for group in groups if len(group) > 1]
    wholes = iter(count_span_tokens(text, spans, counter))
    return [(next(wholes) if len(group) > 1 else group[0], group) for group in groups]
