"""Passages: a text cut into pieces that fit an embedder's window."""

from __future__ import annotations

import re

from memolith.domain.items import Span
from memolith.errors import InvalidInput
from memolith.text.cutting import CountedSpan, Counter, SizeLimit, count_span_tokens, cut_to_fit
from memolith.text.sentences import sentences, strip_span

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
