"""Whether a summary may stand for its sources: nothing invented, little lost, nothing twice."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from memolith.policies.evidence import read_sources
from memolith.policies.grounding import count_ungrounded, names_and_numbers, words_and_numbers
from memolith.policies.indexing import centroid, cosines, quantise
from memolith.text.features import count_words
from memolith.text.injection import is_suspicious
from memolith.text.segmentation import sentences
from memolith.text.synonyms import content_terms

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


# --- Summaries with no model: the sentences that are nearest to what all are about


EXTRACT_MARK = "[Extract]"
"""What an extractive summary begins with."""

DUPLICATE_COSINE = 0.95
"""The cosine from which a sentence says what another has said. A guess, and a high one: with the
local embedder a mere change of names stays above it, and then the first is taken."""

MAX_CANDIDATES = 1_000
"""The most sentences that are looked at, the first ones. A guess: thirty messages have less."""

_MIN_SENTENCE_TERMS, _MAX_SENTENCE_WORDS = 2, 60


@dataclass(frozen=True, slots=True)
class SentenceCandidate:
    """A sentence that may stand in a summary.

    Attributes:
        text: The sentence.
        who: Who said it; empty where nobody did.
    """

    text: str
    speaker: str = ""


def find_candidates(messages: Iterable[tuple[str, str]]) -> tuple[SentenceCandidate, ...]:
    """Return the sentences that state something, in order: no questions, no mere interjections.

    A text that tries to instruct a model is left out.

    Args:
        said: Who spoke, and what they said, in order.
    """
    found = (
        SentenceCandidate(" ".join(sentence.split()), who)
        for who, content in messages
        if not is_suspicious(content)
        for sentence in (span.extract(content) for span in sentences(content))
        if _is_statement(sentence)
    )
    return tuple(one for one, _ in zip(found, range(MAX_CANDIDATES), strict=False))


def extract_summary(
    candidates: Sequence[SentenceCandidate],
    vectors: NDArray[np.floating] | None = None,
    *,
    max_sentences: int = 5,
    max_words: int = 200,
) -> str:
    """Return the sentences nearest to the centre of all, in order, none that repeats another.

    It begins with `MARK`, and says who spoke. The same sentences give the same text.

    Args:
        among: The sentences.
        vectors: One for each, shape (n, d); None: they are compared by their words.
        max_sentences: The most sentences.
        max_words: The most words, names of speakers and the mark aside.

    Returns:
        The empty text where there is no sentence that fits.
    """
    terms = [frozenset(content_terms(one.text)) for one in candidates]
    stored = None if vectors is None else quantise(vectors)
    nearness = _score_by_terms(terms) if stored is None else _score_by_vectors(stored)
    order = sorted(range(len(candidates)), key=lambda place: (-nearness[place], place))
    taken: list[int] = []
    left = max_words
    for place in order:
        cost = count_words(candidates[place].text)
        if len(taken) == max_sentences:
            break
        if cost <= left and not _is_repetition(place, taken, terms, stored):
            taken.append(place)
            left -= cost
    return _format_summary([candidates[place] for place in sorted(taken)])


def _is_statement(sentence: str) -> bool:
    return (
        not sentence.rstrip("\"')*_ ").endswith("?")
        and count_words(sentence) <= _MAX_SENTENCE_WORDS
        and len(content_terms(sentence)) >= _MIN_SENTENCE_TERMS
    )


def _score_by_vectors(stored: NDArray[np.int8]) -> list[float]:
    centre = centroid(stored)
    if centre is None:
        return [0.0] * len(stored)
    return [float(cosine) for cosine in cosines(stored, quantise(centre))]


def _score_by_terms(said: Sequence[frozenset[str]]) -> list[float]:
    """Return how near each sentence is to the centre of all, each of length 1."""
    centre: defaultdict[str, float] = defaultdict(float)
    for terms in said:
        for term in terms:
            centre[term] += 1 / math.sqrt(len(terms))
    return [
        sum(centre[term] for term in sorted(terms)) / math.sqrt(len(terms)) if terms else 0.0
        for terms in said
    ]


def _is_repetition(
    place: int,
    taken: Sequence[int],
    terms: Sequence[frozenset[str]],
    stored: NDArray[np.int8] | None,
) -> bool:
    if any(word_overlap(terms[place], terms[other]) >= REPETITION_OVERLAP for other in taken):
        return True
    if stored is None or not taken:
        return False
    return bool((cosines(stored[list(taken)], stored[place]) >= DUPLICATE_COSINE).any())


def _format_summary(taken: Sequence[SentenceCandidate]) -> str:
    return " ".join([EXTRACT_MARK, *_iter_lines(taken)]) if taken else ""


def _iter_lines(taken: Iterable[SentenceCandidate]) -> Iterator[str]:
    last = ""
    for one in taken:
        yield f"{one.speaker}: {one.text}" if one.speaker and one.speaker != last else one.text
        last = one.speaker
