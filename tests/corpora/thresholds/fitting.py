"""Fitting an embedder's thresholds to the rates at which they may be wrong."""

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
"""Thresholds are given in hundredths."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How near an embedder puts the labelled texts.

    Attributes:
        right: Similarities of what a threshold should let through, by the threshold's name.
        wrong: Of what it should not.
    """

    right: Mapping[str, Floats]
    wrong: Mapping[str, Floats]

    def accepted(self, name: str, threshold: float) -> tuple[float, float]:
        """Return the shares of right and of wrong ones that a threshold lets through."""
        right, wrong = self.right[name], self.wrong[name]
        return float(np.mean(right >= threshold)), float(np.mean(wrong >= threshold))


def measured(embedder: Embedder, cases: Sequence[Case]) -> Measured:
    """Embed the labelled texts, and return how near they are to each other.

    A question goes with its fact, and with no other fact of the set; both kinds of question. A
    fact goes with what restates it, and not with a different or a related one. What changes it
    is neither right nor wrong: to let it take the old one's place is what an update is for.
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
    """Return the lowest thresholds, in hundredths, that are wrong no oftener than they may be."""
    return SimilarityThresholds(
        **{
            field.name: _lowest(found.wrong[field.name], rates[field.name])
            for field in fields(SimilarityThresholds)
        }
    )


def _lowest(wrong: Floats, rate: float) -> float:
    """Return the lowest number of hundredths that at most this share of the values reaches."""
    allowed = math.floor(len(wrong) * rate)
    if allowed >= len(wrong):
        return -1.0
    highest_refused = np.sort(wrong)[::-1][allowed]
    steps = math.floor(float(highest_refused) * _STEPS)
    while steps / _STEPS <= highest_refused:  # 0.29 times 100 is a little less than 29
        steps += 1
    return min(1.0, steps / _STEPS)


def _embedded(embedder: Embedder, texts: Sequence[str], role: TextRole) -> Floats:
    return embedder.embed(texts, role=role).astype(np.float64)
