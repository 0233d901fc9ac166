"""`tiers`: a log, facts, summaries, and one living base document, in two cascades."""

from __future__ import annotations

from types import MappingProxyType

from memolith.policies.condensing import Condensing
from memolith.policies.dialects import TIERS
from memolith.policies.forgetting import Unfading
from memolith.policies.judging import FixedJudging
from memolith.policies.learning import NothingLearned
from memolith.policies.ranking.cosine import LEAST_SIMILARITY, CosineRanking
from memolith.policies.rendering.tiers import LayeredRendering
from memolith.policies.sameness import DUPLICATE_DISTANCE, NearestReplaced
from memolith.policies.triggers import LONG_CASCADE, SHORT_CASCADE, Cascade
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
    retrieval_min_similarity: float = LEAST_SIMILARITY,
    duplicate_distance_threshold: float = DUPLICATE_DISTANCE,
    short_term: Cascade = SHORT_CASCADE,
    long_term: Cascade = LONG_CASCADE,
) -> Profile:
    """Return the profile, with its source's own numbers under their own names."""
    return Profile(
        name="tiers",
        told="one user, one device, a small local model",
        kinds=tuple(STANDARD_KINDS),
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        judging=FixedJudging("knowledge"),
        learning=NothingLearned(),
        extraction=TIERS,
        condensing=Condensing(messages=short_term, summaries=long_term),
        merging=NearestReplaced(duplicate_distance_threshold),
        ranking=CosineRanking(least_similarity=retrieval_min_similarity),
        forgetting=Unfading(),
        rendering=LayeredRendering(),
        limit=retrieval_top_k,
    )
