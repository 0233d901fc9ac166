"""Estimate the probability that any result answers the question; for reports, not as a filter.

A search always returns something. The estimate uses signals that are comparable between questions:
the similarity of the nearest passage, the share of the question's words in one passage (weighted by
rarity), and the number of passages searched. If a question names one of several speakers, another
signal tests whether somebody else said it. The weights are fitted for one embedder each
(`ranking.relevance_fitted`), since cosines of embedders differ. See
docs/decisions/0051-nothing-relevant.md for accuracy and limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memolith.policies.ranking.model import Candidates, PostingColumns, Query, Scores
from memolith.policies.ranking.query import get_cues
from memolith.policies.ranking.scoring import compute_idf

RELEVANCE_THRESHOLD = 0.1
"""Probability below which no result counts as relevant. Our choice: on the hardest data set, one
answered question in twenty is then reported as unanswered.
"""


@dataclass(frozen=True, slots=True)
class RelevanceSignals:
    """Signals of relevance for one question.

    Attributes:
        nearness: Cosine of the nearest passage, −1..1.
        words: Best BM25 score of a passage, relative to a passage of mean length with each word of
            the question once. Words that never occur weigh most.
        passages: Number of the owner's passages.
        speaker_lead: Score of the named speaker's best result minus the best of others; None unless
            exactly one person is named and both have results.
    """

    nearness: float
    words: float
    passages: int
    speaker_lead: float | None = None

    @property
    def extent(self) -> float:
        """√(2 ln n) for n passages: the expected maximum of n random scores, in deviations."""
        return math.sqrt(2.0 * math.log(max(self.passages, 1)))


@dataclass(frozen=True, slots=True)
class Relevance:
    """Weights of the signals for one embedder.

    The estimate is the minimum of two logistic functions: that the subject occurs, and that the
    named person said it.

    Attributes:
        constant: Constant of the first function.
        nearness: Weight of `RelevanceSignals.nearness`.
        words: Weight of `RelevanceSignals.words`.
        extent: Weight of `RelevanceSignals.extent`; negative, since the best of many is good by
            chance.
        speaker_constant: Constant of the second function.
        speaker_lead: Weight of `RelevanceSignals.speaker_lead`.
    """

    constant: float
    nearness: float
    words: float
    extent: float
    speaker_constant: float
    speaker_lead: float

    def likelihood(self, signals: RelevanceSignals | None) -> float:
        """Return the probability that a result answers the question, 0..1.

        Assumes even prior odds. None stands for no results: 0.
        """
        if signals is None:
            return 0.0
        matched = self.nearness * signals.nearness + self.words * signals.words
        subject = _logistic(self.constant + matched + self.extent * signals.extent)
        if signals.speaker_lead is None:
            return subject
        return min(
            subject, _logistic(self.speaker_constant + self.speaker_lead * signals.speaker_lead)
        )


@dataclass(frozen=True, slots=True)
class SearchExtent:
    """The extent of a keyword search.

    Attributes:
        passages: Number of the owner's passages.
        max_score: Score of a passage of mean length with each keyword once; 0 without keywords.
    """

    passages: int = 0
    max_score: float = 0.0

    @classmethod
    def from_postings(cls, postings: PostingColumns) -> SearchExtent:
        """Return the extent of a search."""
        return cls(postings.total, float(compute_idf(postings).sum()))


def build_signals(
    query: Query, candidates: Candidates, scores: Scores, extent: SearchExtent
) -> RelevanceSignals | None:
    """Return the signals for a question; None without results.

    Args:
        query: The question.
        candidates: The results.
        scores: Their scores by the standard ranking.
        extent: The extent of the keyword search, with at least one keyword.
    """
    if not len(candidates.text):
        return None
    nearest = float(np.fmax.reduce(candidates.best_similarity))
    return RelevanceSignals(
        nearness=0.0 if math.isnan(nearest) else nearest,
        words=float(candidates.text.max()) / extent.max_score,
        passages=extent.passages,
        speaker_lead=_get_speaker_margin(get_cues(query).only_named, candidates, scores),
    )


def _get_speaker_margin(named: int | None, candidates: Candidates, scores: Scores) -> float | None:
    """Return the lead of one speaker's best result over others', without the speaker bonus."""
    if named is None:
        return None
    total = scores.total - scores.parts.get("by_named_speaker", 0.0)
    by_named = candidates.speaker == named
    others = ~by_named & (candidates.speaker >= 0)
    if not by_named.any() or not others.any():
        return None
    return _get_best_score(total, by_named) - _get_best_score(total, others)


def _get_best_score(total: NDArray[np.float64], rows: NDArray[np.bool_]) -> float:
    return float(np.max(total, where=rows, initial=-np.inf))


def _logistic(value: float) -> float:
    """Return 1/(1 + e^−v) without overflow."""
    return 0.5 * (1.0 + math.tanh(0.5 * value))
