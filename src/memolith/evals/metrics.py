"""Measures of a ranked list against the evidence of a question.

`ranked` is a list of messages' external ids, best first, without duplicates; `evidence` is not
empty. All lie in 0..1, higher is better.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and where it would lie in 95 % of samples like this one."""

    mean: float
    low: float
    high: float


def expand_results(results: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return messages in the order of the results that stand for them, each once.

    A result that stands for thirty messages takes thirty places.
    """
    return tuple(dict.fromkeys(message for result in results for message in result))


def get_sessions(messages: Iterable[str], session_of: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sessions of messages by their first message, each once."""
    return tuple(dict.fromkeys(session_of[m] for m in messages if m in session_of))


def recall_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the share of the evidence among the first k."""
    return len(set(ranked[:k]) & set(evidence)) / len(set(evidence))


def any_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1.0 where any of the evidence is among the first k, else 0.0."""
    return float(not set(ranked[:k]).isdisjoint(evidence))


def all_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1.0 where all of the evidence is among the first k, else 0.0."""
    return float(set(evidence) <= set(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], evidence: Collection[str]) -> float:
    """Return one over the place of the first piece of evidence; 0.0 without any."""
    places = (place for place, message in enumerate(ranked, start=1) if message in evidence)
    return 1.0 / next(places, math.inf)


def ndcg_at(ranked: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the discounted gain of the first k over the greatest possible (Järvelin 2002).

    That is the gain of all the evidence at the top, whether or not it was ever retrieved.
    """
    gain = sum(
        1.0 / math.log2(place + 1)
        for place, message in enumerate(ranked[:k], start=1)
        if message in evidence
    )
    best = min(k, len(set(evidence)))
    return gain / sum(1.0 / math.log2(place + 1) for place in range(1, best + 1))


def bootstrap_interval(
    values: Sequence[float], generator: np.random.Generator, *, samples: int = 1_000
) -> Interval:
    """Return the mean and its 95 % interval by the percentile bootstrap (Efron 1979).

    The values of different questions are taken for independent, which questions about one
    conversation are not quite: the true interval is somewhat wider.
    """
    data: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
    if not len(data):
        return Interval(math.nan, math.nan, math.nan)
    drawn = generator.integers(0, len(data), size=(samples, len(data)))
    low, high = np.quantile(data[drawn].mean(axis=1), (0.025, 0.975))
    return Interval(float(data.mean()), float(low), float(high))
