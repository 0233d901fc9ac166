"""Passages: a text cut into pieces that fit an embedder's window."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from mnemon.domain.items import Span
from mnemon.errors import InvalidInput
from mnemon.text.sentences import sentences, stripped

MAX_PASSAGES = 65_535
"""The most passages a text may have: a passage's number is stored in two bytes."""

# Texts up to this length are first tried whole. Longer ones rarely fit any window: a guess.
_WHOLE_CHARS = 4_000
# A stretch that is too long is cut to about this many parts a passage, so that passages fill to
# more than three quarters. A guess: more parts fill better and cost more counting.
_PARTS_PER_PASSAGE = 4
# How far a cut within a word moves, to not part a letter from its marks. A guess.
_MAX_MARKS = 16

_CLAUSE_END = re.compile(r"[,;:](?=\s)|[–—]|[，、；：]")
_SPACE = re.compile(r"\s+")
_JOINER = "\u200d"

_Counted = tuple[Span, int]
_Cut = Callable[[str, Span, int], Iterable[int]]


class Counter(Protocol):
    """What counts tokens; `mnemon.ports.tokens.TokenCounter` is one."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        ...


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
        whole = _counted(text, list(stripped(text, 0, len(text))), counter)
        if all(tokens <= max_tokens for _, tokens in whole):
            return whole
    groups = _packed(_units(text, counter, max_tokens), max_tokens)
    if len(groups) > MAX_PASSAGES:
        raise InvalidInput("content", f"needs {len(groups):,} passages; the limit is 65,535")
    return _verified(text, groups, counter, max_tokens)


def _counted(text: str, spans: Sequence[Span], counter: Counter) -> list[_Counted]:
    counts = counter.count([span.of(text) for span in spans]) if spans else []
    return list(zip(spans, counts, strict=True))


def _units(text: str, counter: Counter, max_tokens: int) -> list[_Counted]:
    """Return sentences, and parts of those that are too long: what is put into passages whole."""
    units = _counted(text, sentences(text), counter)
    units = _recut(text, units, counter, max_tokens, _after_clauses)
    while any(tokens > max_tokens for _, tokens in units):
        finer = _recut(text, units, counter, max_tokens, _at_spaces)
        if len(finer) == len(units):
            break  # only single characters are too long now
        units = finer
    return units


def _recut(
    text: str, units: list[_Counted], counter: Counter, max_tokens: int, cut: _Cut
) -> list[_Counted]:
    """Replace the units that are too long by their parts, counted together."""
    parts = [
        list(_parts(text, span, cut(text, span, -(-tokens * _PARTS_PER_PASSAGE // max_tokens))))
        if tokens > max_tokens
        else [span]
        for span, tokens in units
    ]
    counts = iter(
        _counted(text, [span for group in parts if len(group) > 1 for span in group], counter)
    )
    recut: list[_Counted] = []
    for unit, group in zip(units, parts, strict=True):
        recut += [unit] if len(group) == 1 else [next(counts) for _ in group]
    return recut


def _parts(text: str, span: Span, cuts: Iterable[int]) -> Iterator[Span]:
    for start, end in pairwise([span.start, *cuts, span.end]):
        yield from stripped(text, start, end)


def _after_clauses(text: str, span: Span, _parts: int) -> list[int]:
    return [mark.end() for mark in _CLAUSE_END.finditer(text, span.start, span.end)]


def _at_spaces(text: str, span: Span, parts: int) -> list[int]:
    """Return at most `parts - 1` places for cuts, evenly spread: spaces, or any without spaces."""
    length = span.end - span.start
    even = [span.start + length * i // parts for i in range(1, parts)]
    spaces = [space.start() for space in _SPACE.finditer(text, span.start, span.end)]
    if spaces:
        return sorted({spaces[min(bisect_left(spaces, at), len(spaces) - 1)] for at in even})
    whole = {_between_letters(text, at, span.end) for at in even} - {span.start, span.end}
    return sorted(whole or set(even) - {span.start})


def _between_letters(text: str, at: int, end: int) -> int:
    """Return the next place that parts no letter from its marks and no joined emoji."""
    for place in range(at, min(at + _MAX_MARKS, end)):
        if text[place - 1] != _JOINER and not _is_mark(text[place]):
            return place
    return min(at + _MAX_MARKS, end)


def _is_mark(char: str) -> bool:
    return char == _JOINER or unicodedata.category(char)[0] == "M"


def _packed(units: list[_Counted], max_tokens: int) -> list[list[_Counted]]:
    """Group the units greedily, in order."""
    groups: list[list[_Counted]] = []
    room = 0
    for unit in units:
        if groups and unit[1] <= room:
            groups[-1].append(unit)
        else:
            groups.append([unit])
            room = max_tokens
        room -= unit[1]
    return groups


def _verified(
    text: str, groups: list[list[_Counted]], counter: Counter, max_tokens: int
) -> list[_Counted]:
    """Return each group as one passage, halving those whose joined text counts too much.

    A joined stretch may cost more than its units: a counter may count the space between them.
    """
    joined = _joined(text, groups, counter)
    fitting = [passage for passage, group in joined if passage[1] <= max_tokens or len(group) == 1]
    halves = [
        half
        for passage, group in joined
        if passage[1] > max_tokens and len(group) > 1
        for half in (group[: len(group) // 2], group[len(group) // 2 :])
    ]
    if not halves:
        return fitting
    mended = _verified(text, halves, counter, max_tokens)
    return sorted([*fitting, *mended], key=lambda passage: passage[0].start)


def _joined(
    text: str, groups: list[list[_Counted]], counter: Counter
) -> list[tuple[_Counted, list[_Counted]]]:
    """Return each group's whole stretch, with its own count, beside the group."""
    spans = [Span(group[0][0].start, group[-1][0].end) for group in groups if len(group) > 1]
    counted = iter(_counted(text, spans, counter))
    return [(next(counted) if len(group) > 1 else group[0], group) for group in groups]
