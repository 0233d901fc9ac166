"""`chunks`: text cut at its meaning, kept by novelty and salience, recalled within a budget."""

from __future__ import annotations

from types import MappingProxyType

from mnemon.policies.forgetting import Unfading
from mnemon.policies.learning import NothingLearned
from mnemon.policies.ranking.cosine import LEAST_IMPORTANCE, ChunkReranking, CosineRanking
from mnemon.policies.rendering.chunks import TaggedRendering
from mnemon.policies.routing import (
    EPISODIC,
    KINDS,
    PROCEDURAL,
    SEMANTIC,
    WORKING,
    RoutedJudging,
)
from mnemon.policies.salience import KEPT_FROM, SalienceKeeping
from mnemon.policies.sameness import IdenticalOnce
from mnemon.profiles.model import Profile

TOP_K = 5

STANDARD_KINDS = {
    PROCEDURAL: "preference",
    SEMANTIC: "fact",
    EPISODIC: "event",
    WORKING: "context",
}

OWN_KINDS = {
    "preference": PROCEDURAL,
    "fact": SEMANTIC,
    "event": EPISODIC,
    "context": WORKING,
    "correction": SEMANTIC,
    "identity": SEMANTIC,
    "project": SEMANTIC,
    "tool_result": EPISODIC,
    "summary": SEMANTIC,
}


def chunks(
    top_k: int = TOP_K,
    min_stored_importance: float = KEPT_FROM,
    min_recalled_importance: float = LEAST_IMPORTANCE,
) -> Profile:
    """Return the profile: how many results, and the least importance to be stored and recalled."""
    return Profile(
        name="chunks",
        kinds=KINDS,
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        judging=RoutedJudging(),
        keeping=SalienceKeeping(min_stored_importance),
        learning=NothingLearned(),
        merging=IdenticalOnce(),
        ranking=CosineRanking(least_importance=min_recalled_importance),
        reranking=ChunkReranking(least_importance=min_recalled_importance),
        forgetting=Unfading(),
        rendering=TaggedRendering(),
        first_kinds=frozenset({PROCEDURAL}),
        passing=MappingProxyType({WORKING: EPISODIC}),
        limit=top_k,
    )
