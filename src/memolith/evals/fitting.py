"""Fitting the weights of a ranking to questions whose evidence is known.

Each piece of evidence is to stand above all that is none, by a softmax over the two (listwise,
Cao et al. 2007); other evidence of the same question takes no part, so that one piece is not held
against another. Every data set counts alike, however many questions it has, and so does every
question in it, however many pieces of evidence.
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
"""Of the squares of the weights, each in units of its part's spread. Measured: ten times as much
and a third of it are alike."""

_RANKING_STEPS = 50
_RANKING_TOLERANCE = 1e-6
_MIN_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class RankingExample:
    """One question's candidates.

    Attributes:
        data_set: Of which data set.
        parts: The parts of each candidate's score, not weighted, shape (n, k).
        is_evidence: Which of them are evidence, shape (n,).
    """

    data_set: str
    parts: Floats
    is_evidence: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class _RankedLists:
    """All lists in one: a piece of evidence and what it is to beat, the evidence first.

    Attributes:
        rows: Shape (m, k), each column divided by its spread.
        starts: Where each list begins, shape (lists,).
        list_of: The list of each row, shape (m,).
        share: What each list counts; they add up to 1.
        spread: Of each column.
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
        """Return the loss's gradient, shape (k,), and its Hessian, shape (k, k)."""
        weighted = probability * self.share[self.list_of]
        means = np.add.reduceat(probability[:, None] * self.rows, self.starts)
        gradient = self.share @ (means - self.rows[self.starts]) + RANKING_PENALTY * weights
        squares = (self.rows * weighted[:, None]).T @ self.rows
        hessian = squares - (means * self.share[:, None]).T @ means
        return gradient, hessian + RANKING_PENALTY * np.eye(len(weights))


def fit_ranking(examples: Sequence[RankingExample]) -> Floats:
    """Return the weights, shape (k,), that tell evidence best; 0 for a part that is always alike.

    The loss is convex: Newton's method with halved steps, from 0.

    Raises:
        ValueError: No example has both evidence and something else.
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
        raise ValueError("no question has both evidence and something else among its candidates")
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


# --- Fitting how likely it is that a memory answers a question, and how well that is told


_Floats = NDArray[np.float64]

RELEVANCE_PENALTY = 1e-3
"""Of the squares of the weights, each in units of its sign's spread; small beside what is told by
hundreds of questions, it keeps weights finite where two kinds lie apart. A guess."""

_RELEVANCE_STEPS = 50
_RELEVANCE_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that was asked of a memory.

    Attributes:
        data_set: Of which data set the question is.
        signs: What was found; None: nothing.
        is_answered: Whether the memory has what answers it.
        is_swapped: Whether the memory has it of somebody else than the question asks about.
    """

    data_set: str
    signals: RelevanceSignals | None
    is_answered: bool
    is_swapped: bool = False


def fit_relevance(asked: Sequence[AskedQuestion]) -> Relevance:
    """Return the weights under which answered questions are told best from others.

    Whether the subject is there is learned from all questions that are not swapped; by whom it is
    said from those that name one of several people. Every data set counts alike, and in it the
    answered questions as much as the others. Without both swapped and answered questions of
    that sort, by whom something is said counts nothing.

    Raises:
        ValueError: No data set has both answered questions and others.
    """
    known = [one for one in asked if one.signals is not None]
    subject = [one for one in known if not one.is_swapped]
    rows = [(one.nearness, one.words, one.extent) for each in subject if (one := each.signals)]
    constant, nearness, words, extent = _fit_logistic(rows, subject)
    named = [one for one in known if one.signals and one.signals.ahead is not None]
    spoken = [one for one in named if one.is_answered or one.is_swapped]
    said, ahead = _CONSTANT_ONE
    if {one.is_answered for one in spoken} == {True, False}:
        said, ahead = _fit_logistic(
            [(one.signals.ahead or 0.0,) for one in spoken if one.signals], spoken
        )
    return Relevance(constant, nearness, words, extent, said, ahead)


_CONSTANT_ONE = 100.0, 0.0
"""A logistic that is 1 whatever it is given."""


def _fit_logistic(rows: Sequence[Sequence[float]], asked: Sequence[AskedQuestion]) -> list[float]:
    """Return the constant and the weights of a logistic regression, by Newton's method."""
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
    """Return what each question counts; a data set with one side alone counts nothing.

    Raises:
        ValueError: That is so of all.
    """
    sides = Counter((one.data_set, one.is_answered) for one in asked)
    both = {name for name, _ in sides if (name, True) in sides and (name, False) in sides}
    if not both:
        raise ValueError("no data set has both questions that are answered and others")
    shares = [
        1.0 / sides[one.data_set, one.is_answered] if one.data_set in both else 0.0 for one in asked
    ]
    return np.array(shares) / (2.0 * len(both))


def auc(answered: Sequence[float], others: Sequence[float]) -> float:
    """Return how often an answered question gets more than another one, ties for half, 0..1.

    Raises:
        ValueError: There are none of one sort.
    """
    if not answered or not others:
        raise ValueError("there must be questions of both sorts")
    above = np.asarray(answered)[:, None] - np.asarray(others)[None, :]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())
