"""`chunks`: text cut at its meaning, kept by novelty and salience, recalled within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from memolith.policies.consolidation import ConsolidationPolicy, SessionCompressionPolicy
from memolith.policies.decay import NoDecay
from memolith.policies.learning import NoLearning
from memolith.policies.merging import IdenticalTextMerging
from memolith.policies.ranking.weighted import MIN_IMPORTANCE, ChunkReranking, CosineRanking
from memolith.policies.rendering.formats import TaggedRendering
from memolith.policies.salience import (
    EPISODIC,
    KINDS,
    MIN_STORED_IMPORTANCE,
    PROCEDURAL,
    SEMANTIC,
    WORKING,
    RoutingClassifier,
    SalienceScoring,
)
from memolith.profiles.model import Profile
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
    """The numbers of the profile; the defaults are its own.

    Attributes:
        top_k: How many results where it is not said.
        max_chunk_tokens: The most tokens of a chunk.
        min_chunk_tokens: A chunk with fewer is merged with its neighbour.
        min_stored_importance: The importance under which a chunk is not stored.
        min_recalled_importance: The importance under which nothing is recalled.
        similarity_weight: What the cosine weighs where the reranker can't be had.
        text_weight: What the keywords weigh there.
        importance_weight: What the importance weighs there.
        compression_threshold: Over how many uncompressed sessions the oldest are compressed.
        sessions_to_compress: How many of them; 0: half as many.
    """

    top_k: int = 5
    max_chunk_tokens: int = 300
    min_chunk_tokens: int = 50
    min_stored_importance: float = MIN_STORED_IMPORTANCE
    min_recalled_importance: float = MIN_IMPORTANCE
    similarity_weight: float = 0.6
    text_weight: float = 0.3
    importance_weight: float = 0.1
    compression_threshold: int = 10
    sessions_to_compress: int = 0


def chunks(settings: ChunksSettings = ChunksSettings()) -> Profile:
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
        default_top_k=settings.top_k,
    )


def _build_sizes(min_tokens: int, max_tokens: int) -> ChunkSizes:
    """Return sizes in which a block that is not cut may be as many times larger as by default."""
    usual = ChunkSizes()
    hard = max_tokens * usual.hard_max_tokens // usual.max_tokens
    return ChunkSizes(min_tokens, max_tokens, hard)
