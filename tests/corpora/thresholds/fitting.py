"""Fit an embedder's thresholds to maximum error rates."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from memolith.policies.embedding_models import ERROR_RATES, SimilarityThresholds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from corpora.thresholds.cases import Case
    from memolith.ports.models import Embedder, TextRole

    Floats = NDArray[np.float64]

_STEPS = 100
"""Thresholds are multiples of 0.01."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Similarities of the labelled texts.

    Attributes:
        right: Similarities that a threshold should accept, by its name.
        wrong: Similarities that it should reject.
    """

    right: Mapping[str, Floats]
    wrong: Mapping[str, Floats]

    def accepted(self, name: str, threshold: float) -> tuple[float, float]:
        """Return the shares of right and of wrong similarities that a threshold accepts."""
        right, wrong = self.right[name], self.wrong[name]
        return float(np.mean(right >= threshold)), float(np.mean(wrong >= threshold))


def measured(embedder: Embedder, cases: Sequence[Case]) -> Measured:
    """Embed the labelled texts, and return their similarities.

    Both kinds of questions match their own fact and no other fact of the set. A fact matches its
    restatement, but no different or related fact. Changed facts count neither as right nor as
    wrong, since replacing the old fact is the purpose of an update.
    """
    facts = _embedded(embedder, [case.fact for case in cases], "document")
    asked = _embedded(embedder, [case.question for case in cases], "query") @ facts.T
    others = _embedded(embedder, [case.other_question for case in cases], "query") @ facts.T
    answers = np.diagonal(asked)
    no_answers = np.concatenate([asked[~np.eye(len(asked), dtype=bool)], others.ravel()])
    restated, different, related = (
        np.sum(facts * _embedded(embedder, texts, "document"), axis=1)
        for texts in (
            [case.restated for case in cases],
            [case.different for case in cases],
            [case.related for case in cases],
        )
    )
    apart = np.concatenate([different, related])
    recalls = ("floor", "least")
    names = [field.name for field in fields(SimilarityThresholds)]
    return Measured(
        {name: answers if name in recalls else restated for name in names},
        {name: no_answers if name in recalls else apart for name in names},
    )


def fitted(found: Measured, rates: Mapping[str, float] = ERROR_RATES) -> SimilarityThresholds:
    """Return the lowest thresholds, in hundredths, within the maximum error rates."""
    return SimilarityThresholds(
        **{
            field.name: _lowest(found.wrong[field.name], rates[field.name])
            for field in fields(SimilarityThresholds)
        }
    )


def _lowest(wrong: Floats, rate: float) -> float:
    """Return the lowest multiple of 0.01 that at most a share of the values reaches."""
    allowed = math.floor(len(wrong) * rate)
    if allowed >= len(wrong):
        return -1.0
    highest_refused = np.sort(wrong)[::-1][allowed]
    steps = math.floor(float(highest_refused) * _STEPS)
    while steps / _STEPS <= highest_refused:  # 0.29 times 100 is slightly less than 29
        steps += 1
    return min(1.0, steps / _STEPS)


def _embedded(embedder: Embedder, texts: Sequence[str], role: TextRole) -> Floats:
    return embedder.embed(texts, role=role).astype(np.float64)
