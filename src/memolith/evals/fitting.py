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
        highest = np.maximum.reduceat(score, self.starts)
        exponentials = np.exp(score - highest[self.list_of])
        sums = np.add.reduceat(exponentials, self.starts)
        log_likelihoods = score[self.starts] - highest - np.log(sums)
        loss = (
            -float(self.share @ log_likelihoods) + RANKING_PENALTY * float(weights @ weights) / 2.0
        )
        return loss, exponentials / sums[self.list_of]

    def get_derivatives(self, weights: Floats, probability: Floats) -> tuple[Floats, Floats]:
        """Return the gradient of the loss, shape (k,), and its Hessian, shape (k, k)."""
        weighted_probability = probability * self.share[self.list_of]
        means = np.add.reduceat(probability[:, None] * self.rows, self.starts)
        gradient = self.share @ (means - self.rows[self.starts]) + RANKING_PENALTY * weights
        squares = (self.rows * weighted_probability[:, None]).T @ self.rows
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
        new_loss, new_probability = lists.loss(weights - step)
        while new_loss > loss and length > _MIN_STEP:
            length /= 2.0
            new_loss, new_probability = lists.loss(weights - length * step)
        if loss - new_loss < _RANKING_TOLERANCE:
            break
        weights, loss, probability = weights - length * step, new_loss, new_probability
    return weights / lists.spread


def _build_lists(examples: Sequence[RankingExample]) -> _RankedLists:
    usable = [one for one in examples if one.is_evidence.any() and not one.is_evidence.all()]
    if not usable:
        raise ValueError("no question has both evidence and other candidates")
    questions = Counter(one.data_set for one in usable)
    blocks: list[Floats] = []
    weights: list[float] = []
    for one in usable:
        evidence, others = one.parts[one.is_evidence], one.parts[~one.is_evidence]
        blocks += [np.concatenate([row[None, :], others]) for row in evidence]
        weights += [1.0 / (questions[one.data_set] * len(evidence))] * len(evidence)
    sizes = np.array([len(block) for block in blocks])
    rows = np.concatenate(blocks)
    scale = np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), 1.0)
    return _RankedLists(
        rows=rows / scale,
        starts=np.cumsum(sizes) - sizes,
        list_of=np.repeat(np.arange(len(sizes)), sizes),
        share=np.array(weights) / sum(weights),
        spread=scale,
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


def fit_relevance(questions: Sequence[AskedQuestion]) -> Relevance:
    """Return the weights that best separate answered from unanswered questions.

    The weights of the subject are fitted to all questions that are not swapped. The weights of the
    speaker are fitted to questions that name one of several people. All data sets have equal
    weight, as have answered and unanswered questions of a data set. Without both swapped and
    answered questions that name a person, the speaker is ignored.

    Raises:
        ValueError: No data set has both answered and unanswered questions.
    """
    with_signals = [one for one in questions if one.signals is not None]
    subject = [one for one in with_signals if not one.is_swapped]
    rows = [(one.nearness, one.words, one.extent) for each in subject if (one := each.signals)]
    constant, nearness, words, extent = _fit_logistic(rows, subject)
    with_lead = [
        one for one in with_signals if one.signals and one.signals.speaker_lead is not None
    ]
    labelled = [one for one in with_lead if one.is_answered or one.is_swapped]
    lead_constant, ahead = _CONSTANT_ONE
    if {one.is_answered for one in labelled} == {True, False}:
        lead_constant, ahead = _fit_logistic(
            [(one.signals.speaker_lead or 0.0,) for one in labelled if one.signals], labelled
        )
    return Relevance(constant, nearness, words, extent, lead_constant, ahead)


_CONSTANT_ONE = 100.0, 0.0
"""Coefficients of a logistic function that is constantly 1."""


def _fit_logistic(
    rows: Sequence[Sequence[float]], questions: Sequence[AskedQuestion]
) -> list[float]:
    """Return the intercept and weights of a logistic regression, fitted by Newton's method."""
    features = np.array(rows, dtype=np.float64)
    question_weights = _weigh_questions(questions)
    scale = np.where(np.ptp(features, axis=0) > 0, features.std(axis=0), 1.0)
    columns = np.column_stack([np.ones(len(features)), features / scale])
    labels = np.array([one.is_answered for one in questions], dtype=np.float64)
    penalty = np.diag([0.0, *[RELEVANCE_PENALTY] * features.shape[1]])
    weights = np.zeros(columns.shape[1])
    for _ in range(_RELEVANCE_STEPS):
        predictions = 1.0 / (1.0 + np.exp(-(columns @ weights)))
        gradient = columns.T @ (question_weights * (predictions - labels)) + penalty @ weights
        hessian = (
            columns.T * (question_weights * predictions * (1.0 - predictions))
        ) @ columns + penalty
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if float(np.abs(step).max()) < _RELEVANCE_TOLERANCE:
            break
    coefficients: list[float] = (weights / np.concatenate([[1.0], scale])).tolist()
    return coefficients


def _weigh_questions(questions: Sequence[AskedQuestion]) -> _Floats:
    """Return the weight of each question. Data sets with only one class get weight 0.

    Raises:
        ValueError: Every data set has only one class.
    """
    counts = Counter((one.data_set, one.is_answered) for one in questions)
    balanced = {name for name, _ in counts if (name, True) in counts and (name, False) in counts}
    if not balanced:
        raise ValueError("no data set has both answered and unanswered questions")
    weights = [
        1.0 / counts[one.data_set, one.is_answered] if one.data_set in balanced else 0.0
        for one in questions
    ]
    return np.array(weights) / (2.0 * len(balanced))


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
