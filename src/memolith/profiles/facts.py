"""`facts`: short facts with a time to live, two thresholds against duplicates, hybrid search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from memolith.policies.classification import FixedClassifier
from memolith.policies.decay import HalfLifeDecay
from memolith.policies.extraction import FACTS_SCHEMA
from memolith.policies.learning import NoLearning
from memolith.policies.merging import ThresholdMerging
from memolith.policies.ranking.scoring import SATURATION_MIDPOINT
from memolith.policies.ranking.weighted import HybridRanking
from memolith.policies.rendering.formats import FACTS_HEADINGS, FlowingRendering
from memolith.profiles.model import Profile

KINDS = tuple(FACTS_HEADINGS)

LIFETIMES = {
    "preference": timedelta(days=90),
    "project": timedelta(days=60),
    "contextual": timedelta(days=30),
}
"""How long memories of a kind last; identity lasts for good."""

_STANDARD_KINDS = {
    "identity": "identity",
    "preference": "preference",
    "project": "project",
    "contextual": "context",
}

_OWN_KINDS = {
    "correction": "preference",
    "identity": "identity",
    "preference": "preference",
    "fact": "contextual",
    "project": "project",
    "event": "contextual",
    "context": "contextual",
    "tool_result": "contextual",
    "summary": "contextual",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsSettings:
    """The numbers of the profile; the defaults are its own.

    Attributes:
        auto_merge_threshold: The similarity from which a memory is updated.
        arbitration_threshold: The similarity from which the arbitrator is asked.
        max_per_user: The most active memories of an owner.
        max_content_length: The longest memory, in bytes.
        decay_interval_h: How often stored strengths are computed anew, in hours.
        vector_weight: What the cosine weighs in recall.
        text_weight: What the keywords weigh.
        decay_weight: What the strength weighs.
        text_half_at: The BM25 score that counts as one half.
        lasting: How long memories of a kind last; others last for good.
    """

    auto_merge_threshold: float = 0.95
    arbitration_threshold: float = 0.85
    max_per_user: int = 1_000
    max_content_length: int = 500
    decay_interval_h: float = 1.0
    vector_weight: float = 0.6
    text_weight: float = 0.2
    decay_weight: float = 0.2
    text_midpoint: float = SATURATION_MIDPOINT
    lifetimes: Mapping[str, timedelta] = field(default_factory=lambda: MappingProxyType(LIFETIMES))


def facts(settings: FactsSettings = FactsSettings()) -> Profile:
    """Return the profile with these numbers."""
    return Profile(
        name="facts",
        description="a service with many users and a model at hand",
        kinds=KINDS,
        standard_kinds=MappingProxyType(_STANDARD_KINDS),
        own_kinds=MappingProxyType(_OWN_KINDS),
        classifier=FixedClassifier("contextual"),
        learning=NoLearning(),
        extraction=FACTS_SCHEMA,
        merging=ThresholdMerging(
            settings.auto_merge_threshold,
            settings.arbitration_threshold,
            settings.max_content_length,
        ),
        ranking=HybridRanking(
            settings.vector_weight,
            settings.text_weight,
            settings.decay_weight,
            settings.text_midpoint,
        ),
        decay=HalfLifeDecay(settings.lifetimes),
        rendering=FlowingRendering(),
        max_memory_bytes=settings.max_content_length,
        redacts_lines=True,
        lifetimes=settings.lifetimes,
        capacity=settings.max_per_user,
        decay_interval_hours=settings.decay_interval_h,
    )
