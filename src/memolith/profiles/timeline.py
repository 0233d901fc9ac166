"""`timeline`: keyed knowledge and a timeline of compressed history, found by keywords alone."""

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
    """`[memory.timeline]`."""

    recall_limit: Annotated[
        TopK, describe("how many memories are recalled, or stand in a prompt, where it is not said")
    ] = 5
    timeline_retention_days: Annotated[
        Days, describe("how many days entries of the timeline last")
    ] = 90
    consolidation_turn_threshold: Annotated[
        Count, describe("from how many turns on a history is compressed")
    ] = DEFAULT_HISTORY_COMPRESSION.turns
    idle_consolidation_minutes: Annotated[
        Count, describe("after how many minutes of silence it is")
    ] = int(DEFAULT_HISTORY_COMPRESSION.idle_minutes)
    max_failures_before_degrade: Annotated[
        Count, describe("after how many failures in a row the messages are stored as they are")
    ] = 3
    consolidation_provider: Annotated[
        str, describe("what compresses, where it is not the chat model")
    ] = ""
    consolidation_model: Annotated[str, describe("its model")] = ""


def timeline(
    settings: TimelineSettings = TimelineSettings(), top_k: int = DEFAULT_TOP_K
) -> Profile:
    """Return the profile with these numbers."""
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
