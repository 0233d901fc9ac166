"""How likely it is that anything found answers the question: a report, never a filter.

A search finds something in any memory. Whether that has anything to do with the question is told
by signs that compare between questions, as a ranking's total does not: how near the nearest
passage is, how many of the question's words stand in one passage, the rare ones above all, and
among how many passages these are the best. Where a question names one of several people who have
spoken, another sign tells whether what was found was said by somebody else. The weights are fitted
(`ranking.relevance_fitted`) for one embedder each: cosines of another one lie elsewhere. See
docs/decisions/0051-nothing-relevant.md for what that is worth, and for what it does not see.
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
"""The likelihood under which nothing found counts as relevant. Our choice: on the data set
where it is hardest, one answered question in twenty is then said to have no answer."""


@dataclass(frozen=True, slots=True)
class RelevanceSignals:
    """What tells whether anything found answers a question.

    Attributes:
        nearness: The cosine of the nearest passage, −1..1.
        words: The best BM25 of a passage, 0 and up, where 1 is that of one of mean length that
            holds each word of the question once. Words that stand nowhere weigh most.
        passages: How many passages the owner has.
        ahead: How far the best that the one person named said stands before the best that
            others said, in points of the ranking; None where not one person is named, or not
            both have said something that was found.
    """

    nearness: float
    words: float
    passages: int
    ahead: float | None = None

    @property
    def extent(self) -> float:
        """√(2 ln n) for n passages: the best of n by chance stands so many deviations high."""
        return math.sqrt(2.0 * math.log(max(self.passages, 1)))


@dataclass(frozen=True, slots=True)
class Relevance:
    """Weights of the signs, for one embedder.

    Two logistic functions, of which the lower value counts: that the subject is there at all, and
    that it is said by whom the question asks about.

    Attributes:
        constant: Of the first.
        nearness: What a nearness of 1 adds.
        words: What all words of the question in one passage add.
        extent: What each unit of extent adds: less than 0, for the best of many is good by chance.
        said: The constant of the second.
        ahead: What each point ahead adds.
    """

    constant: float
    nearness: float
    words: float
    extent: float
    said: float
    ahead: float

    def likelihood(self, signals: RelevanceSignals | None) -> float:
        """Return how likely it is that something found answers the question, 0..1.

        Even odds to begin with are assumed. None: nothing was found, 0.
        """
        if signals is None:
            return 0.0
        known = self.nearness * signals.nearness + self.words * signals.words
        subject = _logistic(self.constant + known + self.extent * signals.extent)
        if signals.ahead is None:
            return subject
        return min(subject, _logistic(self.said + self.ahead * signals.ahead))


@dataclass(frozen=True, slots=True)
class SearchExtent:
    """In what a search by keyword looked.

    Attributes:
        passages: How many passages the owner has.
        attainable: What one of mean length would score that held each keyword once; 0 where
            none was looked for.
    """

    passages: int = 0
    max_score: float = 0.0

    @classmethod
    def from_postings(cls, postings: PostingColumns) -> SearchExtent:
        """Return that of one search."""
        return cls(postings.total, float(compute_idf(postings).sum()))


def build_signals(
    query: Query, found: Candidates, scores: Scores, extent: SearchExtent
) -> RelevanceSignals | None:
    """Return what tells whether anything found answers the question; None: nothing was found.

    Args:
        query: The question.
        found: What was found.
        scores: What each is worth by the standard ranking.
        extent: In what was looked for keywords, of which there is one at least.
    """
    if not len(found.text):
        return None
    nearest = float(np.fmax.reduce(found.best_similarity))
    return RelevanceSignals(
        nearness=0.0 if math.isnan(nearest) else nearest,
        words=float(found.text.max()) / extent.max_score,
        passages=extent.passages,
        ahead=_get_speaker_margin(get_cues(query).only_named, found, scores),
    )


def _get_speaker_margin(named: int | None, found: Candidates, scores: Scores) -> float | None:
    """Return how far one speaker's best stands before the others', speakers not counted."""
    if named is None:
        return None
    total = scores.total - scores.parts.get("by_named_speaker", 0.0)
    theirs = found.speaker == named
    others = ~theirs & (found.speaker >= 0)
    if not theirs.any() or not others.any():
        return None
    return _get_best_score(total, theirs) - _get_best_score(total, others)


def _get_best_score(total: NDArray[np.float64], rows: NDArray[np.bool_]) -> float:
    return float(np.max(total, where=rows, initial=-np.inf))


def _logistic(value: float) -> float:
    """Return 1/(1 + e^−v), in a form that overflows nowhere."""
    return 0.5 * (1.0 + math.tanh(0.5 * value))
