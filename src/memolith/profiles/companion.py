"""The `companion` profile: typed memories learned by cues, without a model; Ebbinghaus decay."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from memolith.domain.memories import Origin
from memolith.policies.classification import CueClassifier, get_companion_kind
from memolith.policies.decay import EbbinghausDecay
from memolith.policies.learning import ExchangeLearning
from memolith.policies.merging import SimilarityMerging
from memolith.policies.ranking.weighted import FreshnessRanking
from memolith.policies.rendering.formats import PriorityRendering
from memolith.profiles.model import Profile
from memolith.profiles.settings import (
    DEFAULT_TOP_K,
    DecayFactor,
    DecayModifier,
    Share,
    describe,
    describe_floor,
    describe_modifier,
    get_decay_parameters,
)

KINDS = ("correction", "fact", "preference", "context", "tool_result")
"""Highest priority first."""

_OWN_KINDS = {
    "correction": "correction",
    "identity": "fact",
    "preference": "preference",
    "fact": "fact",
    "project": "fact",
    "event": "fact",
    "context": "context",
    "tool_result": "tool_result",
    "summary": "context",
}

EXTERNAL_KINDS = MappingProxyType({Origin.TOOL: "tool_result", Origin.DOCUMENT: "context"})
"""The kind of external text that makes claims about the user, by origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompanionSettings:
    """Settings of the `companion` profile: `[memory.companion]`, and four in `[memory]`."""

    rag_threshold: Annotated[
        Share,
        describe("minimum similarity of recalled memories", threshold="floor", is_top_level=True),
    ] = 0.5
    merge_threshold: Annotated[
        Share,
        describe(
            "similarity above which memories are merged", threshold="merge", is_top_level=True
        ),
    ] = 0.85
    min_importance: Annotated[
        Share, describe("strength below which memories fade", is_top_level=True)
    ] = 0.1
    decay_factor: Annotated[
        DecayFactor, describe("share of strength left after a day", is_top_level=True)
    ] = 0.95
    context_chars: Annotated[
        int, describe("maximum length of a prompt context, in characters", ge=0, le=1_000_000)
    ] = 2_000
    similarity_weight: Annotated[Share, describe("weight of similarity in the recall score")] = 0.5
    importance_weight: Annotated[Share, describe("weight of strength in the recall score")] = 0.2
    freshness_weight: Annotated[Share, describe("weight of freshness in the recall score")] = 0.3
    correction_decay_modifier: Annotated[DecayModifier, describe_modifier("corrections")] = 0.5
    correction_importance_floor: Annotated[Share, describe_floor("corrections")] = 0.35
    fact_decay_modifier: Annotated[DecayModifier, describe_modifier("facts")] = 0.7
    fact_importance_floor: Annotated[Share, describe_floor("facts")] = 0.3
    preference_decay_modifier: Annotated[DecayModifier, describe_modifier("preferences")] = 0.8
    preference_importance_floor: Annotated[Share, describe_floor("preferences")] = 0.25
    context_decay_modifier: Annotated[DecayModifier, describe_modifier("temporary context")] = 1.0
    context_importance_floor: Annotated[Share, describe_floor("temporary context")] = 0.1
    tool_result_decay_modifier: Annotated[DecayModifier, describe_modifier("tool results")] = 1.0
    tool_result_importance_floor: Annotated[Share, describe_floor("tool results")] = 0.1


def companion(
    settings: CompanionSettings = CompanionSettings(), top_k: int = DEFAULT_TOP_K
) -> Profile:
    """Return the profile, configured by `settings`."""
    classifier = CueClassifier(get_companion_kind)
    return Profile(
        name="companion",
        description="a personal assistant that must not call a model to learn",
        kinds=KINDS,
        standard_kinds=MappingProxyType({kind: kind for kind in KINDS}),
        own_kinds=MappingProxyType(_OWN_KINDS),
        classifier=classifier,
        learning=ExchangeLearning(classifier),
        merging=SimilarityMerging(KINDS, settings.merge_threshold),
        ranking=FreshnessRanking(
            floor=settings.rag_threshold,
            similarity=settings.similarity_weight,
            strength=settings.importance_weight,
            freshness=settings.freshness_weight,
        ),
        decay=EbbinghausDecay(settings.decay_factor, get_decay_parameters(settings, KINDS)),
        rendering=PriorityRendering(KINDS, settings.context_chars),
        external_kinds=EXTERNAL_KINDS,
        cleanup_threshold=settings.min_importance,
        default_top_k=top_k,
    )
