"""Fitting how likely it is that a memory answers a question, and how well that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memolith.policies.ranking.relevance import Relevance, RelevanceSignals

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
