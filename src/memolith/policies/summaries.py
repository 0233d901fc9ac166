"""Check summaries against their sources, and build extractive summaries without a model."""

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
"""Two sentences repeat each other from this share of common words on. A guess."""

MIN_REPETITION_WORDS = 3
"""Sentences with fewer words are not compared."""

LOOP_RUN_WORDS = 4
MIN_LOOP_RUNS = 3
"""A run of four words that occurs three times means that the model is looping. A guess."""


class SummaryProblem(StrEnum):
    """A problem of a summary."""

    EMPTY = "empty"
    TOO_LONG = "too long"
    REPEATS = "repeats itself"
    LOSES = "loses names and numbers"
    INVENTS = "invents names or numbers"


@dataclass(frozen=True, slots=True)
class SummaryLimits:
    """Limits of a summary.

    Attributes:
        max_words: Maximum number of words.
        max_sentences: Maximum number of sentences; None: no limit.
        expected: Number of names and numbers that a summary of this length can preserve at most. A
            guess: two per sentence.
        min_kept_share: Minimum share of the names and numbers (at most `expected`) that it
            preserves, 0..1. A guess.
        max_invented: Maximum number of names, numbers and dates that no source contains.
    """

    max_words: int
    max_sentences: int | None = None
    expected: int = 10
    min_kept_share: float = 0.5
    max_invented: int = 0


@dataclass(frozen=True, slots=True)
class SummaryCheck:
    """The result of a check.

    Attributes:
        problems: Problems in the order of `SummaryProblem`; empty if there are none.
        kept: Number of names and numbers preserved from the sources.
        expected: Minimum number to preserve.
        invented: Number of its names, numbers and dates that no source contains.
    """

    problems: tuple[SummaryProblem, ...]
    kept: int = 0
    expected: int = 0
    invented: int = 0

    @property
    def is_faithful(self) -> bool:
        """Whether there are no problems."""
        return not self.problems


def check_summary(
    summary: str,
    texts: Sequence[str],
    limits: SummaryLimits,
    *,
    dates: Sequence[date | None] = (),
    names: Iterable[str] = (),
) -> SummaryCheck:
    """Check a summary against its sources, by words and numbers, not by meaning.

    Args:
        summary: One paragraph, or a document in sections.
        texts: The sources.
        limits: The limits to check.
        dates: The date of each text, None if unknown, to resolve "yesterday"; empty: all unknown.
        names: Names of the speakers, which the sources need not contain.
    """
    prose = "\n".join(line for line in summary.splitlines() if not line.rstrip().endswith(":"))
    if not count_words(prose):
        return SummaryCheck((SummaryProblem.EMPTY,))
    kept_count, expected = _count_kept(prose, texts, limits)
    invented = count_ungrounded(prose, read_sources(texts, dates, names))
    problems = {
        SummaryProblem.TOO_LONG: _is_too_long(prose, limits),
        SummaryProblem.REPEATS: has_repetition(prose),
        SummaryProblem.LOSES: kept_count < expected,
        SummaryProblem.INVENTS: invented > limits.max_invented,
    }
    return SummaryCheck(
        tuple(one for one, applies in problems.items() if applies), kept_count, expected, invented
    )


def has_repetition(text: str) -> bool:
    """Return whether a text repeats a sentence, or loops."""
    term_sets = [frozenset(content_terms(span.extract(text))) for span in sentences(text)]
    long = [terms for terms in term_sets if len(terms) >= MIN_REPETITION_WORDS]
    return any(
        word_overlap(one, other) >= REPETITION_OVERLAP for one, other in combinations(long, 2)
    ) or _has_loop(text.lower().split())


def word_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of words, 0..1; 0 if both are empty."""
    return len(one & other) / len(one | other) if one or other else 0.0


def _has_loop(words: Sequence[str]) -> bool:
    runs: dict[tuple[str, ...], int] = {}
    for at in range(len(words) - LOOP_RUN_WORDS + 1):
        run = tuple(words[at : at + LOOP_RUN_WORDS])
        runs[run] = runs.get(run, 0) + 1
    return max(runs.values(), default=0) >= MIN_LOOP_RUNS


def _is_too_long(text: str, limits: SummaryLimits) -> bool:
    if count_words(text) > limits.max_words:
        return True
    return limits.max_sentences is not None and len(sentences(text)) > limits.max_sentences


def _count_kept(text: str, texts: Iterable[str], limits: SummaryLimits) -> tuple[int, int]:
    """Return the number of preserved names and numbers, and the minimum number."""
    source_terms = frozenset[str]().union(*map(names_and_numbers, texts))
    expected = limits.min_kept_share * min(len(source_terms), limits.expected)
    return len(source_terms & words_and_numbers(text)), int(expected)


# --- Extractive summaries


EXTRACT_MARK = "[Extract]"
"""Prefix of an extractive summary."""

DUPLICATE_COSINE = 0.95
"""A sentence repeats another from this cosine on. A guess, and a high one: with the local embedder,
sentences that differ only in names are above it, and only the first is used.
"""

MAX_CANDIDATES = 1_000
"""Maximum number of sentences considered, the first ones. A guess: thirty messages have fewer."""

_MIN_SENTENCE_TERMS, _MAX_SENTENCE_WORDS = 2, 60


@dataclass(frozen=True, slots=True)
class SentenceCandidate:
    """A candidate sentence of a summary.

    Attributes:
        text: The sentence.
        speaker: Name of the speaker, or "".
    """

    text: str
    speaker: str = ""


def find_candidates(messages: Iterable[tuple[str, str]]) -> tuple[SentenceCandidate, ...]:
    """Return the statements in messages, in order, without questions and interjections.

    Messages that try to instruct a model are skipped.

    Args:
        messages: Pairs of speaker and text, in order.
    """
    candidates = (
        SentenceCandidate(" ".join(sentence.split()), speaker)
        for speaker, content in messages
        if not is_suspicious(content)
        for sentence in (span.extract(content) for span in sentences(content))
        if _is_statement(sentence)
    )
    return tuple(one for one, _ in zip(candidates, range(MAX_CANDIDATES), strict=False))


def extract_summary(
    candidates: Sequence[SentenceCandidate],
    vectors: NDArray[np.floating] | None = None,
    *,
    max_sentences: int = 5,
    max_words: int = 200,
) -> str:
    """Return the sentences nearest to the centroid of all, in order, without repetitions.

    The summary begins with `EXTRACT_MARK` and names the speakers. It is deterministic.

    Args:
        candidates: The sentences.
        vectors: One per sentence, shape (n, d); None: compare words instead.
        max_sentences: Maximum number of sentences.
        max_words: Maximum number of words, without speakers and mark.

    Returns:
        The empty text if no sentence fits.
    """
    terms = [frozenset(content_terms(one.text)) for one in candidates]
    stored = None if vectors is None else quantise(vectors)
    nearness = _score_by_terms(terms) if stored is None else _score_by_vectors(stored)
    ranked = sorted(range(len(candidates)), key=lambda place: (-nearness[place], place))
    selected: list[int] = []
    words_left = max_words
    for place in ranked:
        cost = count_words(candidates[place].text)
        if len(selected) == max_sentences:
            break
        if cost <= words_left and not _is_repetition(place, selected, terms, stored):
            selected.append(place)
            words_left -= cost
    return _format_summary([candidates[place] for place in sorted(selected)])


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


def _score_by_terms(term_sets: Sequence[frozenset[str]]) -> list[float]:
    """Return the cosine of each sentence to the centroid of all, by terms."""
    centre: defaultdict[str, float] = defaultdict(float)
    for terms in term_sets:
        for term in terms:
            centre[term] += 1 / math.sqrt(len(terms))
    return [
        sum(centre[term] for term in sorted(terms)) / math.sqrt(len(terms)) if terms else 0.0
        for terms in term_sets
    ]


def _is_repetition(
    place: int,
    selected: Sequence[int],
    terms: Sequence[frozenset[str]],
    stored: NDArray[np.int8] | None,
) -> bool:
    if any(word_overlap(terms[place], terms[other]) >= REPETITION_OVERLAP for other in selected):
        return True
    if stored is None or not selected:
        return False
    return bool((cosines(stored[list(selected)], stored[place]) >= DUPLICATE_COSINE).any())


def _format_summary(selected: Sequence[SentenceCandidate]) -> str:
    return " ".join([EXTRACT_MARK, *_iter_lines(selected)]) if selected else ""


def _iter_lines(selected: Iterable[SentenceCandidate]) -> Iterator[str]:
    last = ""
    for one in selected:
        yield f"{one.speaker}: {one.text}" if one.speaker and one.speaker != last else one.text
        last = one.speaker
