"""`tiers`: a log, facts, summaries, and one living base document, in two cascades."""

from __future__ import annotations

from types import MappingProxyType

from memolith.policies.classification import FixedClassifier
from memolith.policies.consolidation import (
    LONG_CASCADE,
    SHORT_CASCADE,
    Cascade,
    ConsolidationPolicy,
)
from memolith.policies.decay import NoDecay
from memolith.policies.extraction import TIERS_SCHEMA
from memolith.policies.learning import NoLearning
from memolith.policies.merging import DUPLICATE_DISTANCE, NearestReplacement
from memolith.policies.ranking.weighted import MIN_SIMILARITY, CosineRanking
from memolith.policies.rendering.formats import LayeredRendering
from memolith.profiles.model import Profile

RETRIEVAL_TOP_K = 5

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


def tiers(
    retrieval_top_k: int = RETRIEVAL_TOP_K,
    retrieval_min_similarity: float = MIN_SIMILARITY,
    duplicate_distance_threshold: float = DUPLICATE_DISTANCE,
    short_term: Cascade = SHORT_CASCADE,
    long_term: Cascade = LONG_CASCADE,
) -> Profile:
    """Return the profile, with its source's own numbers under their own names."""
    return Profile(
        name="tiers",
        description="one user, one device, a small local model",
        kinds=tuple(STANDARD_KINDS),
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        classifier=FixedClassifier("knowledge"),
        learning=NoLearning(),
        extraction=TIERS_SCHEMA,
        consolidation=ConsolidationPolicy(messages=short_term, summaries=long_term),
        merging=NearestReplacement(duplicate_distance_threshold),
        ranking=CosineRanking(min_similarity=retrieval_min_similarity),
        decay=NoDecay(),
        rendering=LayeredRendering(),
        default_top_k=retrieval_top_k,
    )
