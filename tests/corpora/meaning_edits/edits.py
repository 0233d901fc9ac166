"""Helpers of all edits: replacing part of a sentence, and words from a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from corpora.meaning_edits.words import Exchanges

Rule = Callable[[str], Iterator[str]]
"""Yields the changed sentences of one kind; may include the sentence itself."""

_PROPER: Final = frozenset({"weekday", "month", "name"})
_SHOUTED: Final = frozenset({"time", "unit"})  # AM and USD; but US is not a pronoun
_LOWER: Final = frozenset({"modality", "tense"})  # capitalised, "Will" and "May" are names
_LEFT, _RIGHT = r"(?<![\w'’-])", r"(?!\w|['’]t\b|-\w)"


def at_start(sentence: str, place: int) -> bool:
    """Return whether a sentence, or one quoted in it, starts at a position."""
    before = sentence[:place].rstrip()
    return not before or before[-1] in ".!?:\"„“'(-\n"


def like(model: str, word: str) -> str:
    """Return a word with the capitalisation of another."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[0].upper() + word[1:] if model[0].isupper() else word


def put(sentence: str, start: int, end: int, new: str) -> str:
    """Replace the characters from `start` to `end`."""
    return sentence[:start] + new + sentence[end:]


@cache
def any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for whole words in any case, which prefers the longest."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(
        _LEFT + "(?:" + "|".join(map(re.escape, longest_first)) + ")" + _RIGHT, re.IGNORECASE
    )


def _may_stand(kind: str, sentence: str, match: re.Match[str]) -> bool:
    """Return whether a word's capitals fit its kind: names have them, modal verbs do not."""
    is_capital = match.group()[0].isupper()
    if len(match.group()) > 1 and match.group().isupper() and not sentence.isupper():
        return kind in _SHOUTED
    if kind in _PROPER:
        return is_capital or match.group().endswith("tags")  # German "montags"
    return kind not in _LOWER or not is_capital or at_start(sentence, match.start())


def word_rule(kind: str, exchanges: Exchanges, fixed: str = "") -> Rule:
    """Return the rule that exchanges one word at a time, except where `fixed` matches."""

    def rule(sentence: str) -> Iterator[str]:
        blocked = [match.span() for match in re.finditer(fixed, sentence)] if fixed else []
        for match in any_of(tuple(exchanges)).finditer(sentence):
            inside = any(start <= match.start() and match.end() <= end for start, end in blocked)
            if inside or not _may_stand(kind, sentence, match):
                continue
            for new in exchanges[match.group().lower()]:
                yield put(sentence, *match.span(), like(match.group(), new))

    return rule
