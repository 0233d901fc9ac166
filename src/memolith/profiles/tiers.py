"""The `tiers` profile: a message log, facts, summaries, and one base document."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from memolith.policies.classification import FixedClassifier
from memolith.policies.consolidation import (
    Cascade,
    ConsolidationPolicy,
)
from memolith.policies.decay import NoDecay
from memolith.policies.extraction import TIERS_SCHEMA
from memolith.policies.learning import NoLearning
from memolith.policies.merging import NearestReplacement
from memolith.policies.ranking.weighted import CosineRanking
from memolith.policies.rendering.formats import LayeredRendering
from memolith.profiles.model import Profile
from memolith.profiles.settings import DEFAULT_TOP_K, Count, TopK, describe

STANDARD_KINDS = {
    "personal": "identity",
    "preference": "preference",
    "knowledge": "fact",
    "event": "event",
}

OWN_KINDS = {
    "identity": "personal",
    "preference": "preference",
    "fact": "knowledge",
    "event": "event",
    "correction": "knowledge",
    "project": "knowledge",
    "context": "knowledge",
    "tool_result": "knowledge",
    "summary": "knowledge",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TiersSettings:
    """Settings of the `tiers` profile: `[memory.tiers]`."""

    short_term_threshold: Annotated[
        Count, describe("number of messages from which the older ones are summarised")
    ] = 30
    short_term_keep: Annotated[
        int, describe("number of newest messages that are not summarised", ge=0, le=1_000_000)
    ] = 10
    long_term_threshold: Annotated[
        Count,
        describe("number of summaries from which the older ones are merged into the base memory"),
    ] = 20
    long_term_keep: Annotated[
        int,
        describe("number of newest summaries that are not merged", ge=0, le=1_000_000),
    ] = 10
    retrieval_top_k: Annotated[
        TopK, describe("default number of recalled facts, also in prompt context")
    ] = 5
    retrieval_min_similarity: Annotated[
        float,
        describe("minimum similarity of recalled memories", ge=-1.0, le=1.0, threshold="least"),
    ] = 0.3
    duplicate_distance_threshold: Annotated[
        float,
        describe(
            "cosine distance below which a new fact supersedes the nearest",
            ge=0.0,
            le=2.0,
            threshold="duplicate",
        ),
    ] = 0.15


def tiers(settings: TiersSettings = TiersSettings(), top_k: int = DEFAULT_TOP_K) -> Profile:
    """Return the profile, configured by `settings`."""
    del top_k
    return Profile(
        name="tiers",
        description="one user, one device, a small local model",
        kinds=tuple(STANDARD_KINDS),
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        classifier=FixedClassifier("knowledge"),
        learning=NoLearning(),
        extraction=TIERS_SCHEMA,
        consolidation=ConsolidationPolicy(
            messages=Cascade(settings.short_term_threshold, settings.short_term_keep),
            summaries=Cascade(settings.long_term_threshold, settings.long_term_keep),
        ),
        merging=NearestReplacement(settings.duplicate_distance_threshold),
        ranking=CosineRanking(min_similarity=settings.retrieval_min_similarity),
        decay=NoDecay(),
        rendering=LayeredRendering(),
        default_top_k=settings.retrieval_top_k,
    )
