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
