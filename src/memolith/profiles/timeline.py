"""The `timeline` profile: keyed knowledge, a timeline of compressed history, and keyword search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Annotated

from memolith.policies.classification import FixedClassifier
from memolith.policies.consolidation import (
    DEFAULT_HISTORY_COMPRESSION,
    ConsolidationPolicy,
    HistoryCompressionPolicy,
)
from memolith.policies.decay import NoDecay
from memolith.policies.learning import NoLearning
from memolith.policies.merging import KeyedMerging
from memolith.policies.ranking.weighted import KeywordRanking
from memolith.policies.rendering.formats import KeyedRendering
from memolith.profiles.model import Profile
from memolith.profiles.settings import DEFAULT_TOP_K, Count, Days, TopK, describe

IMPORTANCE = 0.5

STANDARD_KINDS = {"knowledge": "fact", "timeline": "summary"}

OWN_KINDS = {
    "fact": "knowledge",
    "summary": "timeline",
    "correction": "knowledge",
    "identity": "knowledge",
    "preference": "knowledge",
    "project": "knowledge",
    "event": "knowledge",
    "context": "knowledge",
    "tool_result": "knowledge",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineSettings:
    """Settings of the `timeline` profile: `[memory.timeline]`."""

    recall_limit: Annotated[
        TopK, describe("default number of recalled memories, also in prompt context")
    ] = 5
    timeline_retention_days: Annotated[Days, describe("lifetime of timeline entries, in days")] = 90
    consolidation_turn_threshold: Annotated[
        Count, describe("number of turns from which a history is compressed")
    ] = DEFAULT_HISTORY_COMPRESSION.turns
    idle_consolidation_minutes: Annotated[
        Count, describe("idle minutes after which a history is compressed")
    ] = int(DEFAULT_HISTORY_COMPRESSION.idle_minutes)
    max_failures_before_degrade: Annotated[
        Count, describe("consecutive failures after which messages are stored uncompressed")
    ] = 3
    consolidation_provider: Annotated[
        str, describe("chat provider for compression, if not that of `[memory.chat]`")
    ] = ""
    consolidation_model: Annotated[
        str, describe("model for compression, if not that of `[memory.chat]`")
    ] = ""


def timeline(
    settings: TimelineSettings = TimelineSettings(), top_k: int = DEFAULT_TOP_K
) -> Profile:
    """Return the profile, configured by `settings`."""
    del top_k
    return Profile(
        name="timeline",
        description="agents that manage their own memory with tools",
        kinds=tuple(STANDARD_KINDS),
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        classifier=FixedClassifier("knowledge", IMPORTANCE),
        learning=NoLearning(),
        consolidation=ConsolidationPolicy(
            history=HistoryCompressionPolicy(
                turns=settings.consolidation_turn_threshold,
                idle_minutes=settings.idle_consolidation_minutes,
            ),
            kind="timeline",
        ),
        merging=KeyedMerging(),
        ranking=KeywordRanking(),
        decay=NoDecay(),
        rendering=KeyedRendering(),
        uses_vectors=False,
        keyed_kinds=frozenset({"knowledge"}),
        lifetimes=MappingProxyType({"timeline": timedelta(days=settings.timeline_retention_days)}),
        context_kinds=frozenset({"knowledge"}),
        default_top_k=settings.recall_limit,
        searches_keys=True,
        searches_substrings=True,
    )
