"""Phrases, found quickly in texts that hold few of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import lru_cache

from memolith.text.cues.matching import build_phrase_regex, compile_phrases, fold_prose

_RUN = re.compile(r"\w+")
_CACHE_SIZE = 512


def get_runs(text: str) -> frozenset[str]:
    """Return the runs of letters and digits of a text, folded: what `Phrases` asks for."""
    return frozenset(_RUN.findall(fold_prose(text)))


class PhraseIndex:
    """Phrases as those of `Cues`, of which one pattern would be slow: they are many."""

    def __init__(self, phrases: Iterable[str], fillers: tuple[str, ...] = ()) -> None:
        """Take them, and the words that may stand after the first of each."""
        self._phrases = [
            (_get_required_runs(phrase), build_phrase_regex(phrase, fillers))
            for phrase in sorted(set(phrases))
        ]

    def get_pattern(self, runs: AbstractSet[str]) -> re.Pattern[str] | None:
        """Return the pattern of the phrases that a text with these runs may hold; None: of none.

        It is for folded text, and finds no less in it than the pattern of all of them.
        """
        possible = tuple(regex for needed, regex in self._phrases if needed <= runs)
        return _compile_phrase_pattern(possible) if possible else None


@lru_cache(maxsize=_CACHE_SIZE)
def _compile_phrase_pattern(regexes: tuple[str, ...]) -> re.Pattern[str]:
    return compile_phrases(regexes)


def _get_required_runs(phrase: str) -> frozenset[str]:
    """Return the runs without which a text does not hold a phrase."""
    words = (word for word in phrase.split() if not word.startswith("!") and word != "#")
    return frozenset(
        run
        for word in words
        for run in _RUN.findall(fold_prose(word.removesuffix("*")))[
            : -1 if word.endswith("*") else None
        ]
    )
