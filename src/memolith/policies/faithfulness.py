"""Whether a summary may stand for its sources: nothing invented, little lost, nothing twice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

from memolith.policies.evidence import sources
from memolith.policies.support import names_and_numbers, unfounded, words_and_numbers
from memolith.text.features import count_words
from memolith.text.sentences import sentences
from memolith.text.wordings import content_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

ALIKE = 0.8
"""The share of words that two sentences have in common from which one repeats the other. A
guess."""

LEAST_WORDS = 3
"""Sentences of fewer words repeat nothing."""

RUN = 4
LOOPS = 3
"""A run of four words that stands there three times is a model going round in a circle. A guess."""


class Problem(StrEnum):
    """What is wrong with a summary."""

    EMPTY = "empty"
    TOO_LONG = "too long"
    REPEATS = "repeats itself"
    LOSES = "loses names and numbers"
    INVENTS = "invents names or numbers"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a summary is held to.

    Attributes:
        max_words: The most words.
        max_sentences: The most sentences; None: any number.
        expected: The most names and numbers that one of this length is expected to keep. A guess:
            two a sentence.
        least_kept: The least share of the names and numbers (of as many as are expected) that it
            keeps, 0..1. A guess.
        most_invented: The most names, numbers and dates that stand in no source.
    """

    max_words: int
    max_sentences: int | None = None
    expected: int = 10
    least_kept: float = 0.5
    most_invented: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """What came out of a check.

    Attributes:
        problems: What is wrong, in the order of `Problem`; none: it may stand.
        kept: How many names and numbers of the sources it keeps.
        expected: How many it was expected to keep, at least.
        invented: How many of its names, numbers and dates stand in no source.
    """

    problems: tuple[Problem, ...]
    kept: int = 0
    expected: int = 0
    invented: int = 0

    @property
    def is_faithful(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check(
    summary: str,
    texts: Sequence[str],
    limits: Limits,
    *,
    said_on: Sequence[date | None] = (),
    names: Iterable[str] = (),
) -> Check:
    """Return what is wrong with a summary. By words and numbers, not by meaning.

    Args:
        summary: One paragraph, or a document in sections.
        texts: What it stands for.
        limits: What it is held to.
        said_on: The day each text was said, where known, to tell what "yesterday" means; empty:
            none is known.
        names: Who spoke: they may be named without standing in a text.
    """
    said = "\n".join(line for line in summary.splitlines() if not line.rstrip().endswith(":"))
    if not count_words(said):
        return Check((Problem.EMPTY,))
    kept, expected = _kept(said, texts, limits)
    invented = unfounded(said, sources(texts, said_on, names))
    found = {
        Problem.TOO_LONG: _is_too_long(said, limits),
        Problem.REPEATS: repeats(said),
        Problem.LOSES: kept < expected,
        Problem.INVENTS: invented > limits.most_invented,
    }
    return Check(tuple(one for one, holds in found.items() if holds), kept, expected, invented)


def repeats(text: str) -> bool:
    """Tell whether a text says one thing twice, or goes round in a circle."""
    said = [frozenset(content_terms(span.of(text))) for span in sentences(text)]
    long = [terms for terms in said if len(terms) >= LEAST_WORDS]
    return any(likeness(one, other) >= ALIKE for one, other in combinations(long, 2)) or _loops(
        text.lower().split()
    )


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the words of two texts that both have, 0..1; 0 where there are none."""
    return len(one & other) / len(one | other) if one or other else 0.0


def _loops(words: Sequence[str]) -> bool:
    runs: dict[tuple[str, ...], int] = {}
    for at in range(len(words) - RUN + 1):
        run = tuple(words[at : at + RUN])
        runs[run] = runs.get(run, 0) + 1
    return max(runs.values(), default=0) >= LOOPS


def _is_too_long(said: str, limits: Limits) -> bool:
    if count_words(said) > limits.max_words:
        return True
    return limits.max_sentences is not None and len(sentences(said)) > limits.max_sentences


def _kept(said: str, texts: Iterable[str], limits: Limits) -> tuple[int, int]:
    """Return how many names and numbers are kept, and how many at least should be."""
    told = frozenset[str]().union(*map(names_and_numbers, texts))
    expected = limits.least_kept * min(len(told), limits.expected)
    return len(told & words_and_numbers(said)), int(expected)
