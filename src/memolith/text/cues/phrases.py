"""Phrases, found quickly in texts that hold few of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache

from memolith.text.cues.matching import compiled, folded, phrase_regex

_RUN = re.compile(r"\w+")
_CACHE_SIZE = 512


def runs(text: str) -> frozenset[str]:
    """Return the runs of letters and digits of a text, folded: what `Phrases` asks for."""
    return frozenset(_RUN.findall(folded(text)))


class Phrases:
    """Phrases as those of `Cues`, of which one pattern would be slow: they are many."""

    def __init__(self, phrases: Iterable[str], fillers: tuple[str, ...] = ()) -> None:
        """Take them, and the words that may stand after the first of each."""
        self._phrases = [
            (_needed(phrase), phrase_regex(phrase, fillers)) for phrase in sorted(set(phrases))
        ]

    def within(self, found: AbstractSet[str]) -> re.Pattern[str] | None:
        """Return the pattern of the phrases that a text with these runs may hold; None: of none.

        It is for folded text, and finds no less in it than the pattern of all of them.
        """
        possible = tuple(regex for needed, regex in self._phrases if needed <= found)
        return _pattern(possible) if possible else None


@lru_cache(maxsize=_CACHE_SIZE)
def _pattern(regexes: tuple[str, ...]) -> re.Pattern[str]:
    return compiled(regexes)


def _needed(phrase: str) -> frozenset[str]:
    """Return the runs without which a text does not hold a phrase."""
    words = (word for word in phrase.split() if not word.startswith("!") and word != "#")
    return frozenset(
        run
        for word in words
        for run in _RUN.findall(folded(word.removesuffix("*")))[
            : -1 if word.endswith("*") else None
        ]
    )
