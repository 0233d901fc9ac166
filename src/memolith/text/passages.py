"""Cut text into passages that fit an embedder's window.

The functions that split a text to a size limit also serve chunking.
"""

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

# An oversized span is cut into about this many parts per limit, so that the packed results are more
# than three quarters full. A guess: more parts pack better, but take longer to count.
_PARTS_PER_LIMIT = 4
# Maximum distance that a cut in text without spaces moves, to keep letters together with their
# marks, and words of scripts with spaces whole. Guesses: runs of marks and words are shorter.
_MAX_MARKS = 16
_MAX_WORD = 40

_SPACE = re.compile(r"\s+")
_JOINER = "\u200d"
# Scripts whose words have spaces between them: Latin, Greek, Cyrillic, and digits.
_IN_SPACED_WORD = re.compile(
    "[0-9A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f][0-9A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u052f]"
)

CountedSpan = tuple[Span, int]
"""A span and its number of tokens."""

CutStrategy = Callable[[str, Span, int], Iterable[int]]
"""Returns the cuts of a span, strictly inside it and in order. Arguments: text, span, and the
wanted number of parts."""


class Counter(Protocol):
    """Counts tokens; implemented by `memolith.ports.models.TokenCounter`."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order."""
        ...


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """Maximum size of a span, in tokens and optionally in characters."""

    tokens: int
    chars: int | None = None

    def can_hold(self, span: Span, tokens: int) -> bool:
        """Return whether a span with that number of tokens fits."""
        return tokens <= self.tokens and self.can_hold_chars(span)

    def can_hold_chars(self, span: Span) -> bool:
        """Return whether a span fits by its number of characters."""
        return self.chars is None or span.end - span.start <= self.chars

    def count_parts(self, span: Span, tokens: int) -> int:
        """Return the best number of parts for a span that does not fit."""
        by_tokens = -(-tokens * _PARTS_PER_LIMIT // self.tokens)
        if self.chars is None:
            return by_tokens
        return max(by_tokens, -(-(span.end - span.start) * _PARTS_PER_LIMIT // self.chars))


def count_span_tokens(
    text: str, spans: Sequence[Span], counter: Counter, limit: SizeLimit | None = None
) -> list[CountedSpan]:
    """Return the spans with their token counts, from a single call of the counter.

    Spans with more characters than the limit are not counted and get 0, since they do not fit
    anyway.
    """
    countable = [span for span in spans if limit is None or limit.can_hold_chars(span)]
    counts = iter(counter.count([span.extract(text) for span in countable]) if countable else [])
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
    """Cut the units that do not fit by each strategy in turn, then at spaces.

    A word is cut only if it does not fit by itself. A single character is returned even if it is
    too large.
    """
    for cut in cuts:
        units = _split_oversized(text, units, counter, limit, cut)
    while not all(limit.can_hold(*unit) for unit in units):
        split_units = _split_oversized(text, units, counter, limit, _find_space_cuts)
        if len(split_units) == len(units):
            break  # only single characters are still too large
        units = split_units
    return units


def _split_oversized(
    text: str, units: list[CountedSpan], counter: Counter, limit: SizeLimit, cut: CutStrategy
) -> list[CountedSpan]:
    """Replace units that do not fit by their parts, counted in one call."""
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
    split_units: list[CountedSpan] = []
    for unit, group in zip(units, parts, strict=True):
        split_units += [unit] if len(group) == 1 else [next(counts) for _ in group]
    return split_units


def _split_at(text: str, span: Span, cuts: Iterable[int]) -> Iterator[Span]:
    for start, end in pairwise([span.start, *cuts, span.end]):
        yield from strip_span(text, start, end)


def _find_space_cuts(text: str, span: Span, parts: int) -> list[int]:
    """Return at most `parts - 1` cuts, evenly spread: at spaces, or anywhere without spaces."""
    length = span.end - span.start
    even_cuts = [span.start + length * i // parts for i in range(1, parts)]
    spaces = [space.start() for space in _SPACE.finditer(text, span.start, span.end)]
    if spaces:
        return sorted({spaces[min(bisect_left(spaces, at), len(spaces) - 1)] for at in even_cuts})
    word_cuts = {_find_word_boundary(text, at, span.end) for at in even_cuts} - {
        span.start,
        span.end,
    }
    return sorted(word_cuts or set(even_cuts) - {span.start})


def _find_word_boundary(text: str, at: int, end: int) -> int:
    """Return the next position outside a word of a script with spaces, if one is near."""
    for place in range(at, min(at + _MAX_WORD, end)):
        if not place or _IN_SPACED_WORD.match(text, place - 1) is None:
            return _find_letter_boundary(text, place, end)
    return _find_letter_boundary(text, at, end)


def _find_letter_boundary(text: str, at: int, end: int) -> int:
    """Return the next position that splits no letter from its marks and no joined emoji."""
    for place in range(at, min(at + _MAX_MARKS, end)):
        if is_letter_boundary(text, place):
            return place
    return min(at + _MAX_MARKS, end)


def is_letter_boundary(text: str, place: int) -> bool:
    """Return whether a cut there keeps letters with their marks, and joined emoji whole."""
    return text[place - 1] != _JOINER and not _is_mark(text[place])


def _is_mark(char: str) -> bool:
    return char == _JOINER or unicodedata.category(char)[0] == "M"


# --- Passages


MAX_PASSAGES = 65_535
"""Maximum number of passages per text: passage numbers are stored in two bytes."""

# Texts up to this length are first tried as a whole. Longer ones rarely fit any window. A guess.
_WHOLE_CHARS = 4_000

_CLAUSE_END = re.compile(r"[,;:](?=\s)|[–—]|[，、；：]")


def passages(text: str, counter: Counter, *, max_tokens: int = 112) -> list[tuple[Span, int]]:
    """Cut a text into passages of at most `max_tokens`, each with its count, in order.

    Passages end at the ends of sentences or lines. Longer sentences are cut after a clause, then at
    a space. Words are cut only if they are too long by themselves. The passages cover all text
    except white space. A single character that exceeds `max_tokens` is still a passage.

    Args:
        text: Cleaned text, at most 1 MB.
        counter: Called a few times, with many texts each.
        max_tokens: At least 1. The default leaves room for a speaker's name in a window of 128
            tokens. It gave the best measured results on conversations.

    Raises:
        InvalidInput: `max_tokens` is less than 1, or the text needs more than 65,535 passages.
    """
    if max_tokens < 1:
        raise InvalidInput("max_tokens", f"is {max_tokens}; the minimum is 1")
    if len(text) <= _WHOLE_CHARS:
        counted = count_span_tokens(text, list(strip_span(text, 0, len(text))), counter)
        if all(tokens <= max_tokens for _, tokens in counted):
            return counted
    groups = _pack_units(_split_units(text, counter, max_tokens), max_tokens)
    if len(groups) > MAX_PASSAGES:
        raise InvalidInput("content", f"needs {len(groups):,} passages; the limit is 65,535")
    return _verify_groups(text, groups, counter, max_tokens)


def _split_units(text: str, counter: Counter, max_tokens: int) -> list[CountedSpan]:
    """Return sentences, and parts of oversized sentences; each unit stays whole in a passage."""
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
    """Return each group as one passage; halve groups whose joined text is too large.

    Joined text may have more tokens than its units: a counter may count the spaces between them.
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
    split = _verify_groups(text, halves, counter, max_tokens)
    return sorted([*fitting, *split], key=lambda passage: passage[0].start)


def _join_groups(
    text: str, groups: list[list[CountedSpan]], counter: Counter
) -> list[tuple[CountedSpan, list[CountedSpan]]]:
    """Return each group with the counted span of its joined text."""
    spans = [Span(group[0][0].start, group[-1][0].end) for group in groups if len(group) > 1]
    joined = iter(count_span_tokens(text, spans, counter))
    return [(next(joined) if len(group) > 1 else group[0], group) for group in groups]
