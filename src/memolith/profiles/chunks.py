"""`chunks`: text cut at its meaning, kept by novelty and salience, recalled within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from memolith.errors import InvalidConfiguration
from memolith.policies.consolidation import ConsolidationPolicy, SessionCompressionPolicy
from memolith.policies.decay import NoDecay
from memolith.policies.learning import NoLearning
from memolith.policies.merging import IdenticalTextMerging
from memolith.policies.ranking.weighted import ChunkReranking, CosineRanking
from memolith.policies.rendering.formats import TaggedRendering
from memolith.policies.salience import (
    EPISODIC,
    KINDS,
    PROCEDURAL,
    SEMANTIC,
    WORKING,
    RoutingClassifier,
    SalienceScoring,
)
from memolith.profiles.model import Profile
from memolith.profiles.settings import DEFAULT_TOP_K, Count, Share, describe
from memolith.text.chunking.chunks import ChunkSizes

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunksSettings:
    """`[memory.chunks]`."""

    max_chunk_tokens: Annotated[Count, describe("the most tokens of a chunk")] = 300
    min_chunk_tokens: Annotated[
        int,
        describe(
            "how many tokens a chunk has that is not merged with its neighbour", ge=0, le=1_000_000
        ),
    ] = 50
    min_stored_importance: Annotated[
        Share, describe("the importance under which a chunk is not stored")
    ] = 0.3
    min_recalled_importance: Annotated[
        Share, describe("the importance under which nothing is recalled")
    ] = 0.2
    reranker_enabled: Annotated[
        bool, describe("whether a cross-encoder scores what was found anew")
    ] = False
    reranker_model: Annotated[
        str,
        describe(
            "the cross-encoder: a folder, or the name of one that this machine has; nothing is"
            " downloaded"
        ),
    ] = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    similarity_weight: Annotated[
        Share, describe("how much likeness counts where the reranker can't be had")
    ] = 0.6
    text_weight: Annotated[
        Share, describe("how much the match of words counts where it can't be had")
    ] = 0.3
    importance_weight: Annotated[
        Share, describe("how much importance counts where it can't be had")
    ] = 0.1
    compression_threshold: Annotated[
        Count, describe("over how many uncompressed sessions the oldest are compressed")
    ] = 10
    sessions_to_compress: Annotated[
        int,
        describe(
            "how many sessions are compressed together; 0: half of the threshold",
            ge=0,
            le=1_000_000,
        ),
    ] = 0

    def __post_init__(self) -> None:
        """Refuse a minimum above the maximum."""
        if self.min_chunk_tokens > self.max_chunk_tokens:
            raise InvalidConfiguration("chunks.min_chunk_tokens", "is over chunks.max_chunk_tokens")


def chunks(settings: ChunksSettings = ChunksSettings(), top_k: int = DEFAULT_TOP_K) -> Profile:
    """Return the profile with these numbers."""
    return Profile(
        name="chunks",
        description="documents and long texts",
        kinds=KINDS,
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        classifier=RoutingClassifier(),
        chunk_scoring=SalienceScoring(settings.min_stored_importance),
        chunk_sizes=_build_sizes(settings.min_chunk_tokens, settings.max_chunk_tokens),
        learning=NoLearning(),
        consolidation=ConsolidationPolicy(
            sessions=SessionCompressionPolicy(
                settings.compression_threshold,
                settings.sessions_to_compress or max(1, settings.compression_threshold // 2),
                EPISODIC,
                SEMANTIC,
            ),
            kind=SEMANTIC,
        ),
        merging=IdenticalTextMerging(),
        ranking=CosineRanking(min_importance=settings.min_recalled_importance),
        reranking=ChunkReranking(
            settings.similarity_weight,
            settings.text_weight,
            settings.importance_weight,
            settings.min_recalled_importance,
        ),
        decay=NoDecay(),
        rendering=TaggedRendering(),
        pinned_kinds=frozenset({PROCEDURAL}),
        kinds_after_session=MappingProxyType({WORKING: EPISODIC}),
        default_top_k=top_k,
    )


def _build_sizes(min_tokens: int, max_tokens: int) -> ChunkSizes:
    """Return sizes in which a block that is not cut may be as many times larger as by default."""
    usual = ChunkSizes()
    hard = max_tokens * usual.hard_max_tokens // usual.max_tokens
    return ChunkSizes(min_tokens, max_tokens, hard)
