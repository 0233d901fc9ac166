"""Rank results for the `standard` profile by a weighted sum of signals.

Vector and keyword scores are scaled to 0..1 over the candidates. Further signals come from the
session, neighbouring messages, speaker, time and form of the text. The weights are fitted on two
different sets of conversations: of two people, and of a person with an assistant
(`ranking.fitted`). See docs/decisions/0005-standard-ranking.md and 0050-recall-weights.md for the
contribution of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Trait
from memolith.domain.messages import Participant
from memolith.policies.ranking.fitted import FITTED
from memolith.policies.ranking.model import Candidates, Query, Scores
from memolith.policies.ranking.query import QueryCues, get_cues, prepare_query
from memolith.policies.ranking.scoring import find_unique

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the signals.

    Attributes:
        similarity: Cosine similarity of the passages.
        text: BM25 of the best passage.
        session_similarity: Best similarity in the session: a message among others on the subject is
            more likely relevant.
        session_text: Best BM25 in the session.
        answers_question: BM25 of the previous message, if it is a question of somebody else: "Yes,
            last week!" shares no words with the query.
        next_similarity: Similarity of the next message, which often continues the subject.
        by_named_speaker: The only person that the query names said it, or the user if the user asks
            about themselves.
        date_fits: It is from a date or period that the query names.
        time_asked: It mentions a time, and the query asks for one.
        answer_kind: It has a number, place or proper noun that the query asks for; added for each.
        question: It is a question; weaker for longer texts.
        first_person: It uses the first person.
        length: Logarithm of its length beyond 60 words: long texts match most queries.
        words_around: Joint keyword score with the two messages before and after.
        several_sessions: Best similarity and BM25 in the session, if the query asks for several
            pieces of evidence. These are spread over sessions, so the weight is negative.
        preference: A wish or standing instruction of a person, which matters without being similar.
        strength: Strength of a memory; a tie-breaker.
        freshness: Recency; a tie-breaker. (A larger weight cost 13 points of recall.)
    """

    similarity: float = FITTED["similarity"]
    text: float = FITTED["text"]
    session_similarity: float = FITTED["session_similarity"]
    session_text: float = FITTED["session_text"]
    answers_question: float = FITTED["answers_question"]
    next_similarity: float = FITTED["next_similarity"]
    by_named_speaker: float = FITTED["by_named_speaker"]
    date_fits: float = FITTED["date_fits"]
    time_asked: float = FITTED["time_asked"]
    answer_kind: float = FITTED["answer_kind"]
    question: float = FITTED["question"]
    first_person: float = FITTED["first_person"]
    length: float = FITTED["length"]
    words_around: float = FITTED["words_around"]
    several_sessions: float = FITTED["several_sessions"]
    preference: float = FITTED["preference"]
    strength: float = 0.02
    freshness: float = 0.02


QUESTION_WORDS = 15.0
"""Length, in words, at which a question counts half: long ones also contain statements."""

LONG_WORDS = 60.0
"""Length, in words, from which a text counts as long."""


@dataclass(frozen=True, slots=True)
class StandardRanking:
    """Weighted sum of all signals.

    Attributes:
        weights: The weights.
        least_pool: Minimum number of candidates per search; more than 50 did not improve recall@10
            beyond chance.
    """

    weights: Weights = Weights()
    least_pool: int = 50

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Strip names and phrasing that mislead the searches, and find cues."""
        return prepare_query(text, participants, now)

    def get_pool_size(self, top_k: int) -> int:
        """Return four times `top_k`, at least `least_pool`."""
        return max(self.least_pool, 4 * top_k)

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the weighted sums and their parts; all candidates are kept."""
        # As `sum_parts`, but weights the many parts in one operation.
        parts = _compute_parts(get_cues(query), candidates)
        weights = np.array([getattr(self.weights, name) for name in parts])
        weighted = weights[:, None] * np.array(list(parts.values()), dtype=np.float64)
        kept = np.ones(len(candidates.text), dtype=bool)
        return Scores(weighted.sum(axis=0), dict(zip(parts, weighted, strict=True)), kept)


def _compute_parts(cues: QueryCues, candidates: Candidates) -> Mapping[str, Floats | Flags]:
    """Return all unweighted signals by the names of their weights."""
    similarity, text = (
        scale(candidates.similarity, candidates.similarity),
        scale(candidates.text, candidates.text),
    )
    sessions = _relabel_sessions(candidates.session)
    session_maxima = _max_of_session(similarity, sessions), _max_of_session(text, sessions)
    return {
        "similarity": similarity,
        "text": text,
        "session_similarity": session_maxima[0],
        "session_text": session_maxima[1],
        "answers_question": scale(candidates.previous_text, candidates.text)
        * _follows_question(candidates),
        "next_similarity": scale(candidates.next_similarity, candidates.similarity),
        "by_named_speaker": _is_by_subject(cues, candidates),
        "date_fits": _matches_date(cues, candidates.at),
        "time_asked": _has_trait(candidates.traits, Trait.TIME_EXPRESSION) & cues.asks_time,
        "answer_kind": _count_answer_kinds(cues, candidates.traits),
        "question": _has_trait(candidates.traits, Trait.QUESTION)
        / (1.0 + candidates.words / QUESTION_WORDS),
        "first_person": _has_trait(candidates.traits, Trait.FIRST_PERSON),
        "length": np.maximum(0.0, np.log(np.maximum(candidates.words, 1) / LONG_WORDS)),
        "words_around": scale(candidates.around, candidates.around),
        "several_sessions": cues.asks_several * (session_maxima[0] + session_maxima[1]),
        "preference": _is_personal_preference(candidates),
        "strength": candidates.strength,
        "freshness": candidates.freshness,
    }


def scale(values: Floats, reference: Floats) -> Floats:
    """Map values to the scale on which `reference` spans 0..1, and clip them.

    NaN becomes 0. If all of `reference` is one value above 0, values that reach it become 1, so
    that the only match of a search counts fully; all others become 0.
    """
    low = float(np.fmin.reduce(reference, initial=np.nan))
    high = float(np.fmax.reduce(reference, initial=np.nan))
    if high > low:
        return np.fmax(np.minimum((values - low) / (high - low), 1.0), 0.0)
    return np.where(values >= high, 1.0, 0.0) if high > 0 else np.zeros(len(values))


def _relabel_sessions(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return consecutive session numbers from 0; rows without a session get their own."""
    without_session = np.flatnonzero(numbers < 0)
    labels = numbers.copy()
    labels[without_session] = -1 - without_session
    return np.searchsorted(find_unique(labels), labels)


def _max_of_session(values: Floats, sessions: NDArray[np.int64]) -> Floats:
    """Return the best value in each row's session, itself included; values are at least 0."""
    best = np.zeros(len(values))
    np.maximum.at(best, sessions, values)
    return best[sessions]


def _has_trait(traits: NDArray[np.int64], trait: Trait) -> Flags:
    flags: Flags = (traits & int(trait)) != 0
    return flags


def _follows_question(candidates: Candidates) -> Flags:
    follows_question = _has_trait(candidates.previous_traits, Trait.QUESTION)
    is_by_other: Flags = follows_question & (candidates.previous_speaker != candidates.speaker)
    return is_by_other


def _is_by_subject(cues: QueryCues, candidates: Candidates) -> Flags:
    if cues.only_named is not None:
        by_named: Flags = candidates.speaker == cues.only_named
        return by_named
    if not cues.is_about_user:
        return np.zeros(len(candidates.role), dtype=bool)
    return np.array([role == "user" for role in candidates.role], dtype=bool)


def _is_personal_preference(candidates: Candidates) -> Flags:
    prefers = _has_trait(candidates.traits, Trait.PREFERENCE)
    for row in np.flatnonzero(prefers).tolist():  # rarely any
        prefers[row] = candidates.role[row].is_person
    return prefers


def _matches_date(cues: QueryCues, at: NDArray[np.int64]) -> Flags:
    fits = np.zeros(len(at), dtype=bool)
    for start, end in cues.periods:
        fits |= (at >= start) & (at < end)
    return fits


def _count_answer_kinds(cues: QueryCues, traits: NDArray[np.int64]) -> Floats:
    """Return the number of requested answer kinds that each text has."""
    fits = np.zeros(len(traits))
    for trait in (Trait.NUMBER, Trait.PLACE, Trait.PROPER_NOUN):
        if trait in cues.answer_kinds:
            fits += _has_trait(traits, trait)
    return fits
