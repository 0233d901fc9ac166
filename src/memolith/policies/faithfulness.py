"""Whether a summary may stand for its sources: nothing invented, little lost, nothing twice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

from memolith.policies.evidence import read_sources
from memolith.policies.support import count_ungrounded, names_and_numbers, words_and_numbers
from memolith.text.features import count_words
from memolith.text.sentences import sentences
from memolith.text.wordings import content_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

REPETITION_OVERLAP = 0.8
"""The share of words that two sentences have in common from which one repeats the other. A
guess."""

MIN_REPETITION_WORDS = 3
"""Sentences of fewer words repeat nothing."""

LOOP_RUN_WORDS = 4
MIN_LOOP_RUNS = 3
"""A run of four words that stands there three times is a model going round in a circle. A guess."""


class SummaryProblem(StrEnum):
    """What is wrong with a summary."""

    EMPTY = "empty"
    TOO_LONG = "too long"
    REPEATS = "repeats itself"
    LOSES = "loses names and numbers"
    INVENTS = "invents names or numbers"


@dataclass(frozen=True, slots=True)
class SummaryLimits:
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
    min_kept_share: float = 0.5
    max_invented: int = 0


@dataclass(frozen=True, slots=True)
class SummaryCheck:
    """What came out of a check.

    Attributes:
        problems: What is wrong, in the order of `Problem`; none: it may stand.
        kept: How many names and numbers of the sources it keeps.
        expected: How many it was expected to keep, at least.
        invented: How many of its names, numbers and dates stand in no source.
    """

    problems: tuple[SummaryProblem, ...]
    kept: int = 0
    expected: int = 0
    invented: int = 0

    @property
    def is_faithful(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check_summary(
    summary: str,
    texts: Sequence[str],
    limits: SummaryLimits,
    *,
    said_on: Sequence[date | None] = (),
    names: Iterable[str] = (),
) -> SummaryCheck:
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
        return SummaryCheck((SummaryProblem.EMPTY,))
    kept, expected = _count_kept(said, texts, limits)
    invented = count_ungrounded(said, read_sources(texts, said_on, names))
    found = {
        SummaryProblem.TOO_LONG: _is_too_long(said, limits),
        SummaryProblem.REPEATS: has_repetition(said),
        SummaryProblem.LOSES: kept < expected,
        SummaryProblem.INVENTS: invented > limits.max_invented,
    }
    return SummaryCheck(
        tuple(one for one, holds in found.items() if holds), kept, expected, invented
    )


def has_repetition(text: str) -> bool:
    """Tell whether a text says one thing twice, or goes round in a circle."""
    said = [frozenset(content_terms(span.extract(text))) for span in sentences(text)]
    long = [terms for terms in said if len(terms) >= MIN_REPETITION_WORDS]
    return any(
        word_overlap(one, other) >= REPETITION_OVERLAP for one, other in combinations(long, 2)
    ) or _has_loop(text.lower().split())


def word_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the words of two texts that both have, 0..1; 0 where there are none."""
    return len(one & other) / len(one | other) if one or other else 0.0


def _has_loop(words: Sequence[str]) -> bool:
    runs: dict[tuple[str, ...], int] = {}
    for at in range(len(words) - LOOP_RUN_WORDS + 1):
        run = tuple(words[at : at + LOOP_RUN_WORDS])
        runs[run] = runs.get(run, 0) + 1
    return max(runs.values(), default=0) >= MIN_LOOP_RUNS


def _is_too_long(said: str, limits: SummaryLimits) -> bool:
    if count_words(said) > limits.max_words:
        return True
    return limits.max_sentences is not None and len(sentences(said)) > limits.max_sentences


def _count_kept(said: str, texts: Iterable[str], limits: SummaryLimits) -> tuple[int, int]:
    """Return how many names and numbers are kept, and how many at least should be."""
    told = frozenset[str]().union(*map(names_and_numbers, texts))
    expected = limits.min_kept_share * min(len(told), limits.expected)
    return len(told & words_and_numbers(said)), int(expected)
