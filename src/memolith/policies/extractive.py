"""Summaries with no model: the sentences that are nearest to what all are about."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.policies.faithfulness import REPETITION_OVERLAP, word_overlap
from memolith.policies.vectors import centroid, cosines, quantise
from memolith.text.features import count_words
from memolith.text.injection import is_suspicious
from memolith.text.sentences import sentences
from memolith.text.wordings import content_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

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
