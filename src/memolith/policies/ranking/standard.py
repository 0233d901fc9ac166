"""The ranking of profile `standard`: a weighted sum of what speaks for a candidate.

Both searches are brought to 0..1 over the candidates of the question; around them stand what the
session, the neighbouring turns, the speaker, the time and the form of a text add. The weights
are fitted together on two unlike sets of conversations, of two people and of a person with an
assistant (`ranking.fitted`). See docs/decisions/0005-standard-ranking.md and
0050-recall-weights.md for what each brings, and how surely.
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
    """What each part of a score weighs, against 1.0 for each of the two searches.

    Attributes:
        similarity: What is near in meaning: the cosines of the passages.
        text: What shares words: BM25 of the best passage.
        session_similarity: The best similarity in its session: a turn among others on the
            subject is likelier to be meant.
        session_text: The best text match in its session.
        answers_question: The text match of the message before, where that is a question by
            somebody else: "Yes, last week!" has none of the words asked for.
        next_similarity: The similarity of the message after it, which often takes it up.
        by_named_speaker: Said by the one person whom the question names, or by the user where
            the user asks about himself.
        date_fits: Said on the day, or in the month or year, that the question names.
        time_asked: Says a time where one is asked for.
        answer_kind: Has a number, place or proper noun where one is asked for; each.
        question: Is itself a question, which answers nothing; less so the longer it is.
        first_person: Speaks of I or we, and so of a life.
        length: Is long (for each factor e beyond 60 words): hits something in most questions.
        words_around: How well it and the two messages before and after it hold the words together.
        several_sessions: The best similarity and text of its session, where several pieces of
            evidence are asked for: these stand in many sessions, so it takes back what the best
            session has won.
        preference: A person's wish or standing instruction, which concerns much that does not
            resemble it.
        strength: What is left of a memory's importance; decides between equals.
        freshness: How late it was said or used; decides between equals. (More of it cost 13
            points of recall.)
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
"""At how many words a question counts as one half: a long one states much besides."""

LONG_WORDS = 60.0
"""From how many words a text counts as long."""


@dataclass(frozen=True, slots=True)
class StandardRanking:
    """Implements `Ranking`.

    Attributes:
        weights: What each part weighs.
        least_pool: How many candidates each search gives at least; more than 50 did not raise
            recall at 10 beyond chance.
    """

    weights: Weights = Weights()
    least_pool: int = 50

    def prepare(self, text: str, participants: Sequence[Participant], now: datetime) -> Query:
        """Return the query without what would only mislead the searches, and its cues."""
        return prepare_query(text, participants, now)

    def get_pool_size(self, top_k: int) -> int:
        """Return four times what is wanted, and at least `least_pool`."""
        return max(self.least_pool, 4 * top_k)

    def score(self, query: Query, candidates: Candidates) -> Scores:
        """Return the weighted sum and its parts; every candidate may be returned."""
        # What `summed` does, with all parts weighted at once: they are many.
        parts = _compute_parts(get_cues(query), candidates)
        weights = np.array([getattr(self.weights, name) for name in parts])
        weighted = weights[:, None] * np.array(list(parts.values()), dtype=np.float64)
        kept = np.ones(len(candidates.text), dtype=bool)
        return Scores(weighted.sum(axis=0), dict(zip(parts, weighted, strict=True)), kept)


def _compute_parts(cues: QueryCues, of: Candidates) -> Mapping[str, Floats | Flags]:
    """Return every part, not yet weighted, by the name of its weight."""
    similarity, text = scale(of.similarity, of.similarity), scale(of.text, of.text)
    sessions = _relabel_sessions(of.session)
    of_session = _max_of_session(similarity, sessions), _max_of_session(text, sessions)
    return {
        "similarity": similarity,
        "text": text,
        "session_similarity": of_session[0],
        "session_text": of_session[1],
        "answers_question": scale(of.previous_text, of.text) * _follows_question(of),
        "next_similarity": scale(of.next_similarity, of.similarity),
        "by_named_speaker": _is_by_subject(cues, of),
        "date_fits": _matches_date(cues, of.at),
        "time_asked": _has_trait(of.traits, Trait.TIME_EXPRESSION) & cues.asks_time,
        "answer_kind": _count_answer_kinds(cues, of.traits),
        "question": _has_trait(of.traits, Trait.QUESTION) / (1.0 + of.words / QUESTION_WORDS),
        "first_person": _has_trait(of.traits, Trait.FIRST_PERSON),
        "length": np.maximum(0.0, np.log(np.maximum(of.words, 1) / LONG_WORDS)),
        "words_around": scale(of.around, of.around),
        "several_sessions": cues.asks_several * (of_session[0] + of_session[1]),
        "preference": _is_personal_preference(of),
        "strength": of.strength,
        "freshness": of.freshness,
    }


def scale(values: Floats, over: Floats) -> Floats:
    """Return values on the scale on which `over` spans 0..1, held to that span.

    NaN becomes 0. Where all of `over` is one value there is no span: what reaches it is then 1
    if that is above 0, so that the only hit of a search still counts as one, and else 0.
    """
    low = float(np.fmin.reduce(over, initial=np.nan))
    high = float(np.fmax.reduce(over, initial=np.nan))
    if high > low:
        return np.fmax(np.minimum((values - low) / (high - low), 1.0), 0.0)
    return np.where(values >= high, 1.0, 0.0) if high > 0 else np.zeros(len(values))


def _relabel_sessions(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return session numbers from 0 without gaps; each row without one gets its own."""
    alone = np.flatnonzero(numbers < 0)
    labels = numbers.copy()
    labels[alone] = -1 - alone
    return np.searchsorted(find_unique(labels), labels)


def _max_of_session(values: Floats, sessions: NDArray[np.int64]) -> Floats:
    """Return for each row the best value in its session, itself included; values are ≥ 0."""
    best = np.zeros(len(values))
    np.maximum.at(best, sessions, values)
    return best[sessions]


def _has_trait(traits: NDArray[np.int64], trait: Trait) -> Flags:
    flags: Flags = (traits & int(trait)) != 0
    return flags


def _follows_question(of: Candidates) -> Flags:
    asked = _has_trait(of.previous_traits, Trait.QUESTION)
    by_other: Flags = asked & (of.previous_speaker != of.speaker)
    return by_other


def _is_by_subject(cues: QueryCues, of: Candidates) -> Flags:
    if cues.only_named is not None:
        by_named: Flags = of.speaker == cues.only_named
        return by_named
    if not cues.is_about_user:
        return np.zeros(len(of.role), dtype=bool)
    return np.array([role == "user" for role in of.role], dtype=bool)


def _is_personal_preference(of: Candidates) -> Flags:
    prefers = _has_trait(of.traits, Trait.PREFERENCE)
    for row in np.flatnonzero(prefers).tolist():  # few, mostly none
        prefers[row] = of.role[row].is_person
    return prefers


def _matches_date(cues: QueryCues, at: NDArray[np.int64]) -> Flags:
    fits = np.zeros(len(at), dtype=bool)
    for start, end in cues.periods:
        fits |= (at >= start) & (at < end)
    return fits


def _count_answer_kinds(cues: QueryCues, traits: NDArray[np.int64]) -> Floats:
    """Return how many of the kinds of answer asked for the text has."""
    fits = np.zeros(len(traits))
    for trait in (Trait.NUMBER, Trait.PLACE, Trait.PROPER_NOUN):
        if trait in cues.answer_kinds:
            fits += _has_trait(traits, trait)
    return fits
