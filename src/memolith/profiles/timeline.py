"""`timeline`: keyed knowledge and a timeline of compressed history, found by keywords alone."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType

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

RECALL_LIMIT = 5
TIMELINE_RETENTION_DAYS = 90
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


def timeline(
    recall_limit: int = RECALL_LIMIT,
    timeline_retention_days: int = TIMELINE_RETENTION_DAYS,
    history: HistoryCompressionPolicy = DEFAULT_HISTORY_COMPRESSION,
) -> Profile:
    """Return the profile, with its source's own numbers under their own names."""
    return Profile(
        name="timeline",
        description="agents that manage their own memory with tools",
        kinds=tuple(STANDARD_KINDS),
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        classifier=FixedClassifier("knowledge", IMPORTANCE),
        learning=NoLearning(),
        consolidation=ConsolidationPolicy(history=history, kind="timeline"),
        merging=KeyedMerging(),
        ranking=KeywordRanking(),
        decay=NoDecay(),
        rendering=KeyedRendering(),
        uses_vectors=False,
        keyed_kinds=frozenset({"knowledge"}),
        lifetimes=MappingProxyType({"timeline": timedelta(days=timeline_retention_days)}),
        context_kinds=frozenset({"knowledge"}),
        default_top_k=recall_limit,
        searches_keys=True,
        searches_substrings=True,
    )
