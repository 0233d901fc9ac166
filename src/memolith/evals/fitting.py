"""Fits the weights of ranking and relevance to questions with known evidence.

The ranking loss is a softmax of each piece of evidence over all candidates that are not evidence
(listwise, Cao et al. 2007). Other evidence of the same question is left out of its list. All data
sets have equal weight, as have the questions of a data set, whatever their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memolith.policies.ranking.relevance import Relevance, RelevanceSignals

Floats = NDArray[np.float64]

RANKING_PENALTY = 0.003
"""L2 penalty of the standardised weights. Measured: 10 times and 1/3 of it are equally good."""

_RANKING_STEPS = 50
_RANKING_TOLERANCE = 1e-6
_MIN_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class RankingExample:
    """The candidates of one question.

    Attributes:
        data_set: The name of its data set.
        parts: Unweighted terms of each candidate's score, shape (n, k).
        is_evidence: Whether each candidate is evidence, shape (n,).
    """

    data_set: str
    parts: Floats
    is_evidence: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _RankedLists:
    """All lists, concatenated. A list is one piece of evidence, followed by its competitors.

    Attributes:
        rows: Standardised terms, shape (m, k).
        starts: The first row of each list, shape (lists,).
        list_of: The list of each row, shape (m,).
        share: The weight of each list. The sum is 1.
        spread: Standard deviation of each column, shape (k,).
    """

    rows: Floats
    starts: NDArray[np.int64]
    list_of: NDArray[np.int64]
    share: Floats
    spread: Floats

    def loss(self, weights: Floats) -> tuple[float, Floats]:
        """Return the penalised loss, and each row's probability in its list."""
        score = self.rows @ weights
        top = np.maximum.reduceat(score, self.starts)
        grown = np.exp(score - top[self.list_of])
        sums = np.add.reduceat(grown, self.starts)
        told = score[self.starts] - top - np.log(sums)
        loss = -float(self.share @ told) + RANKING_PENALTY * float(weights @ weights) / 2.0
        return loss, grown / sums[self.list_of]

    def get_derivatives(self, weights: Floats, probability: Floats) -> tuple[Floats, Floats]:
        """Return the gradient of the loss, shape (k,), and its Hessian, shape (k, k)."""
        weighted = probability * self.share[self.list_of]
        means = np.add.reduceat(probability[:, None] * self.rows, self.starts)
        gradient = self.share @ (means - self.rows[self.starts]) + RANKING_PENALTY * weights
        squares = (self.rows * weighted[:, None]).T @ self.rows
        hessian = squares - (means * self.share[:, None]).T @ means
        return gradient, hessian + RANKING_PENALTY * np.eye(len(weights))


def fit_ranking(examples: Sequence[RankingExample]) -> Floats:
    """Return the weights that rank evidence best, shape (k,). Constant terms get weight 0.

    The loss is convex and minimised by Newton's method with step halving, starting at 0.

    Raises:
        ValueError: No example has both evidence and other candidates.
    """
    lists = _build_lists(examples)
    weights = np.zeros(lists.rows.shape[1])
    loss, probability = lists.loss(weights)
    for _ in range(_RANKING_STEPS):
        gradient, hessian = lists.get_derivatives(weights, probability)
        step = np.linalg.solve(hessian, gradient)
        length = 1.0
        lower, found = lists.loss(weights - step)
        while lower > loss and length > _MIN_STEP:
            length /= 2.0
            lower, found = lists.loss(weights - length * step)
        if loss - lower < _RANKING_TOLERANCE:
            break
        weights, loss, probability = weights - length * step, lower, found
    return weights / lists.spread


def _build_lists(examples: Sequence[RankingExample]) -> _RankedLists:
    used = [one for one in examples if one.is_evidence.any() and not one.is_evidence.all()]
    if not used:
        raise ValueError("no question has both evidence and other candidates")
    questions = Counter(one.data_set for one in used)
    blocks: list[Floats] = []
    share: list[float] = []
    for one in used:
        evidence, others = one.parts[one.is_evidence], one.parts[~one.is_evidence]
        blocks += [np.concatenate([row[None, :], others]) for row in evidence]
        share += [1.0 / (questions[one.data_set] * len(evidence))] * len(evidence)
    sizes = np.array([len(block) for block in blocks])
    rows = np.concatenate(blocks)
    spread = np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), 1.0)
    return _RankedLists(
        rows=rows / spread,
        starts=np.cumsum(sizes) - sizes,
        list_of=np.repeat(np.arange(len(sizes)), sizes),
        share=np.array(share) / sum(share),
        spread=spread,
    )


# --- Relevance


_Floats = NDArray[np.float64]

RELEVANCE_PENALTY = 1e-3
"""L2 penalty of the standardised weights. A guess.

It is small compared with the evidence of hundreds of questions, and keeps weights finite for
separable classes.
"""

_RELEVANCE_STEPS = 50
_RELEVANCE_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its search signals.

    Attributes:
        data_set: The name of its data set.
        signals: The signals of the results. None: no results.
        is_answered: Whether the memory contains the answer.
        is_swapped: Whether the memory has the answer for another person than the question names.
    """

    data_set: str
    signals: RelevanceSignals | None
    is_answered: bool
    is_swapped: bool = False


def fit_relevance(asked: Sequence[AskedQuestion]) -> Relevance:
    """Return the weights that best separate answered from unanswered questions.

    The weights of the subject are fitted to all questions that are not swapped. The weights of the
    speaker are fitted to questions that name one of several people. All data sets have equal
    weight, as have answered and unanswered questions of a data set. Without both swapped and
    answered questions that name a person, the speaker is ignored.

    Raises:
        ValueError: No data set has both answered and unanswered questions.
    """
    known = [one for one in asked if one.signals is not None]
    subject = [one for one in known if not one.is_swapped]
    rows = [(one.nearness, one.words, one.extent) for each in subject if (one := each.signals)]
    constant, nearness, words, extent = _fit_logistic(rows, subject)
    named = [one for one in known if one.signals and one.signals.speaker_lead is not None]
    spoken = [one for one in named if one.is_answered or one.is_swapped]
    said, ahead = _CONSTANT_ONE
    if {one.is_answered for one in spoken} == {True, False}:
        said, ahead = _fit_logistic(
            [(one.signals.speaker_lead or 0.0,) for one in spoken if one.signals], spoken
        )
    return Relevance(constant, nearness, words, extent, said, ahead)


_CONSTANT_ONE = 100.0, 0.0
"""Coefficients of a logistic function that is constantly 1."""


def _fit_logistic(rows: Sequence[Sequence[float]], asked: Sequence[AskedQuestion]) -> list[float]:
    """Return the intercept and weights of a logistic regression, fitted by Newton's method."""
    signs = np.array(rows, dtype=np.float64)
    share = _weigh_questions(asked)
    spread = np.where(np.ptp(signs, axis=0) > 0, signs.std(axis=0), 1.0)
    columns = np.column_stack([np.ones(len(signs)), signs / spread])
    answered = np.array([one.is_answered for one in asked], dtype=np.float64)
    penalty = np.diag([0.0, *[RELEVANCE_PENALTY] * signs.shape[1]])
    weights = np.zeros(columns.shape[1])
    for _ in range(_RELEVANCE_STEPS):
        told = 1.0 / (1.0 + np.exp(-(columns @ weights)))
        slope = columns.T @ (share * (told - answered)) + penalty @ weights
        curve = (columns.T * (share * told * (1.0 - told))) @ columns + penalty
        step = np.linalg.solve(curve, slope)
        weights -= step
        if float(np.abs(step).max()) < _RELEVANCE_TOLERANCE:
            break
    found: list[float] = (weights / np.concatenate([[1.0], spread])).tolist()
    return found


def _weigh_questions(asked: Sequence[AskedQuestion]) -> _Floats:
    """Return the weight of each question. Data sets with only one class get weight 0.

    Raises:
        ValueError: Every data set has only one class.
    """
    sides = Counter((one.data_set, one.is_answered) for one in asked)
    both = {name for name, _ in sides if (name, True) in sides and (name, False) in sides}
    if not both:
        raise ValueError("no data set has both answered and unanswered questions")
    shares = [
        1.0 / sides[one.data_set, one.is_answered] if one.data_set in both else 0.0 for one in asked
    ]
    return np.array(shares) / (2.0 * len(both))


def auc(answered: Sequence[float], others: Sequence[float]) -> float:
    """Return the area under the ROC curve, 0..1: how often an answered question scores higher.

    Ties count half.

    Raises:
        ValueError: One of the classes is empty.
    """
    if not answered or not others:
        raise ValueError("both answered and unanswered questions are required")
    above = np.asarray(answered)[:, None] - np.asarray(others)[None, :]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())
