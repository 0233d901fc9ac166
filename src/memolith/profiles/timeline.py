"""`timeline`: keyed knowledge and a timeline of compressed history, found by keywords alone."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType

from memolith.policies.condensing import Condensing
from memolith.policies.forgetting import Unfading
from memolith.policies.judging import FixedJudging
from memolith.policies.learning import NothingLearned
from memolith.policies.ranking.keyword import KeywordRanking
from memolith.policies.rendering.timeline import KeyedRendering
from memolith.policies.sameness import KeyedOnly
from memolith.policies.triggers import CONSOLIDATING, Consolidating
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
    history: Consolidating = CONSOLIDATING,
) -> Profile:
    """Return the profile, with its source's own numbers under their own names."""
    return Profile(
        name="timeline",
        told="agents that manage their own memory with tools",
        kinds=tuple(STANDARD_KINDS),
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        judging=FixedJudging("knowledge", IMPORTANCE),
        learning=NothingLearned(),
        condensing=Condensing(history=history, kind="timeline"),
        merging=KeyedOnly(),
        ranking=KeywordRanking(),
        forgetting=Unfading(),
        rendering=KeyedRendering(),
        vectors=False,
        keyed=frozenset({"knowledge"}),
        lasting=MappingProxyType({"timeline": timedelta(days=timeline_retention_days)}),
        context_kinds=frozenset({"knowledge"}),
        limit=recall_limit,
        finds_keys=True,
        compares_text=True,
    )
