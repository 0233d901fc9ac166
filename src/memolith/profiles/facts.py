"""The `facts` profile: short facts that expire, merging by two thresholds, and hybrid search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated

from memolith.policies.classification import FixedClassifier
from memolith.policies.decay import HalfLifeDecay
from memolith.policies.extraction import FACTS_SCHEMA
from memolith.policies.learning import NoLearning
from memolith.policies.merging import ThresholdMerging
from memolith.policies.ranking.weighted import HybridRanking
from memolith.policies.rendering.formats import FACTS_HEADINGS, FlowingRendering
from memolith.profiles.model import Profile
from memolith.profiles.settings import DEFAULT_TOP_K, Count, Days, Share, describe

KINDS = tuple(FACTS_HEADINGS)

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
    """Settings of the `facts` profile: `[memory.facts]`."""

    auto_merge_threshold: Annotated[
        Share, describe("similarity from which a memory is updated", threshold="auto_merge")
    ] = 0.95
    arbitration_threshold: Annotated[
        Share,
        describe("similarity from which the arbitrator decides", threshold="arbitration"),
    ] = 0.85
    arbitration_timeout_s: Annotated[
        float, describe("timeout for the arbitrator, in seconds", ge=0.01, le=3600.0)
    ] = 30.0
    max_per_user: Annotated[Count, describe("maximum number of active memories per owner")] = 1_000
    max_content_length: Annotated[
        int, describe("maximum size of a memory, in bytes", ge=1, le=8_000)
    ] = 500
    decay_interval_h: Annotated[
        float,
        describe("interval at which stored strengths are recomputed, in hours", ge=0.01, le=8760.0),
    ] = 1.0
    preference_ttl_days: Annotated[Days, describe("default lifetime of preferences, in days")] = 90
    project_ttl_days: Annotated[Days, describe("default lifetime of project facts, in days")] = 60
    contextual_ttl_days: Annotated[
        Days, describe("default lifetime of temporary context, in days")
    ] = 30
    vector_weight: Annotated[Share, describe("weight of vector similarity in the recall score")] = (
        0.6
    )
    text_weight: Annotated[Share, describe("weight of keyword matches in the recall score")] = 0.2
    decay_weight: Annotated[Share, describe("weight of strength in the recall score")] = 0.2


def facts(settings: FactsSettings = FactsSettings(), top_k: int = DEFAULT_TOP_K) -> Profile:
    """Return the profile, configured by `settings`."""
    del top_k
    lifetimes = MappingProxyType(
        {
            "preference": timedelta(days=settings.preference_ttl_days),
            "project": timedelta(days=settings.project_ttl_days),
            "contextual": timedelta(days=settings.contextual_ttl_days),
        }
    )
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
        ),
        decay=HalfLifeDecay(lifetimes),
        rendering=FlowingRendering(),
        max_memory_bytes=settings.max_content_length,
        redacts_lines=True,
        lifetimes=lifetimes,
        capacity=settings.max_per_user,
        decay_interval_hours=settings.decay_interval_h,
    )
