"""The `chunks` profile: text split into semantic chunks, stored by novelty and salience."""

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
    """Settings of the `chunks` profile: `[memory.chunks]`."""

    max_chunk_tokens: Annotated[Count, describe("maximum size of a chunk, in tokens")] = 300
    min_chunk_tokens: Annotated[
        int,
        describe(
            "size below which a chunk is merged with its neighbour, in tokens", ge=0, le=1_000_000
        ),
    ] = 50
    min_stored_importance: Annotated[Share, describe("minimum importance of stored chunks")] = 0.3
    min_recalled_importance: Annotated[
        Share, describe("minimum importance of recalled memories")
    ] = 0.2
    reranker_enabled: Annotated[bool, describe("rerank results with a cross-encoder")] = False
    reranker_model: Annotated[
        str,
        describe(
            "cross-encoder: a folder, or the name of a model installed on this machine; "
            "nothing is downloaded"
        ),
    ] = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    similarity_weight: Annotated[
        Share, describe("weight of similarity if no reranker is available")
    ] = 0.6
    text_weight: Annotated[
        Share, describe("weight of keyword matches if no reranker is available")
    ] = 0.3
    importance_weight: Annotated[
        Share, describe("weight of importance if no reranker is available")
    ] = 0.1
    compression_threshold: Annotated[
        Count, describe("number of uncompressed sessions above which the oldest are compressed")
    ] = 10
    sessions_to_compress: Annotated[
        int,
        describe(
            "number of sessions compressed together; 0: half of the threshold",
            ge=0,
            le=1_000_000,
        ),
    ] = 0

    def __post_init__(self) -> None:
        """Check that the minimum chunk size does not exceed the maximum."""
        if self.min_chunk_tokens > self.max_chunk_tokens:
            problem = "must not be greater than chunks.max_chunk_tokens"
            raise InvalidConfiguration("chunks.min_chunk_tokens", problem)


def chunks(settings: ChunksSettings = ChunksSettings(), top_k: int = DEFAULT_TOP_K) -> Profile:
    """Return the profile, configured by `settings`."""
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
    """Scale the hard limit of unsplittable blocks with the maximum chunk size."""
    defaults = ChunkSizes()
    hard_max = max_tokens * defaults.hard_max_tokens // defaults.max_tokens
    return ChunkSizes(min_tokens, max_tokens, hard_max)
