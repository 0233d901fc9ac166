"""Fitting how likely it is that a memory answers a question, and how well that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memolith.policies.ranking.relevance import Relevance, Signs

Floats = NDArray[np.float64]

PENALTY = 1e-3
"""Of the squares of the weights, each in units of its sign's spread; small beside what is told by
hundreds of questions, it keeps weights finite where two kinds lie apart. A guess."""

_STEPS = 50
_SMALL = 1e-8


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was asked of a memory.

    Attributes:
        data_set: Of which data set the question is.
        signs: What was found; None: nothing.
        is_answered: Whether the memory has what answers it.
        is_swapped: Whether the memory has it of somebody else than the question asks about.
    """

    data_set: str
    signs: Signs | None
    is_answered: bool
    is_swapped: bool = False


def fitted(asked: Sequence[Asked]) -> Relevance:
    """Return the weights under which answered questions are told best from others.

    Whether the subject is there is learned from all questions that are not swapped; by whom it is
    said from those that name one of several people. Every data set counts alike, and in it the
    answered questions as much as the others. Without both swapped and answered questions of
    that sort, by whom something is said counts nothing.

    Raises:
        ValueError: No data set has both answered questions and others.
    """
    known = [one for one in asked if one.signs is not None]
    subject = [one for one in known if not one.is_swapped]
    rows = [(one.nearness, one.words, one.extent) for each in subject if (one := each.signs)]
    constant, nearness, words, extent = _logistic(rows, subject)
    named = [one for one in known if one.signs and one.signs.ahead is not None]
    spoken = [one for one in named if one.is_answered or one.is_swapped]
    said, ahead = _ALWAYS
    if {one.is_answered for one in spoken} == {True, False}:
        said, ahead = _logistic([(one.signs.ahead or 0.0,) for one in spoken if one.signs], spoken)
    return Relevance(constant, nearness, words, extent, said, ahead)


_ALWAYS = 100.0, 0.0
"""A logistic that is 1 whatever it is given."""


def _logistic(rows: Sequence[Sequence[float]], asked: Sequence[Asked]) -> list[float]:
    """Return the constant and the weights of a logistic regression, by Newton's method."""
    signs = np.array(rows, dtype=np.float64)
    share = _shares(asked)
    spread = np.where(np.ptp(signs, axis=0) > 0, signs.std(axis=0), 1.0)
    columns = np.column_stack([np.ones(len(signs)), signs / spread])
    answered = np.array([one.is_answered for one in asked], dtype=np.float64)
    penalty = np.diag([0.0, *[PENALTY] * signs.shape[1]])
    weights = np.zeros(columns.shape[1])
    for _ in range(_STEPS):
        told = 1.0 / (1.0 + np.exp(-(columns @ weights)))
        slope = columns.T @ (share * (told - answered)) + penalty @ weights
        curve = (columns.T * (share * told * (1.0 - told))) @ columns + penalty
        step = np.linalg.solve(curve, slope)
        weights -= step
        if float(np.abs(step).max()) < _SMALL:
            break
    found: list[float] = (weights / np.concatenate([[1.0], spread])).tolist()
    return found


def _shares(asked: Sequence[Asked]) -> Floats:
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
