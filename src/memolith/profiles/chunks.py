"""`chunks`: text cut at its meaning, kept by novelty and salience, recalled within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from memolith.policies.condensing import Condensing, Sessions
from memolith.policies.forgetting import Unfading
from memolith.policies.learning import NothingLearned
from memolith.policies.ranking.cosine import LEAST_IMPORTANCE, ChunkReranking, CosineRanking
from memolith.policies.rendering.chunks import TaggedRendering
from memolith.policies.routing import (
    EPISODIC,
    KINDS,
    PROCEDURAL,
    SEMANTIC,
    WORKING,
    RoutedJudging,
)
from memolith.policies.salience import KEPT_FROM, SalienceKeeping
from memolith.policies.sameness import IdenticalOnce
from memolith.profiles.model import Profile
from memolith.text.chunking.model import Sizes

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
class ChunksNumbers:
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
    min_stored_importance: float = KEPT_FROM
    min_recalled_importance: float = LEAST_IMPORTANCE
    similarity_weight: float = 0.6
    text_weight: float = 0.3
    importance_weight: float = 0.1
    compression_threshold: int = 10
    sessions_to_compress: int = 0


def chunks(numbers: ChunksNumbers = ChunksNumbers()) -> Profile:
    """Return the profile with these numbers."""
    return Profile(
        name="chunks",
        told="documents and long texts",
        kinds=KINDS,
        standard_kinds=MappingProxyType(STANDARD_KINDS),
        own_kinds=MappingProxyType(OWN_KINDS),
        judging=RoutedJudging(),
        keeping=SalienceKeeping(numbers.min_stored_importance),
        chunk_sizes=_sizes(numbers.min_chunk_tokens, numbers.max_chunk_tokens),
        learning=NothingLearned(),
        condensing=Condensing(
            sessions=Sessions(
                numbers.compression_threshold,
                numbers.sessions_to_compress or max(1, numbers.compression_threshold // 2),
                EPISODIC,
                SEMANTIC,
            ),
            kind=SEMANTIC,
        ),
        merging=IdenticalOnce(),
        ranking=CosineRanking(least_importance=numbers.min_recalled_importance),
        reranking=ChunkReranking(
            numbers.similarity_weight,
            numbers.text_weight,
            numbers.importance_weight,
            numbers.min_recalled_importance,
        ),
        forgetting=Unfading(),
        rendering=TaggedRendering(),
        first_kinds=frozenset({PROCEDURAL}),
        passing=MappingProxyType({WORKING: EPISODIC}),
        limit=numbers.top_k,
    )


def _sizes(min_tokens: int, max_tokens: int) -> Sizes:
    """Return sizes in which a block that is not cut may be as many times larger as by default."""
    usual = Sizes()
    hard = max_tokens * usual.hard_max_tokens // usual.max_tokens
    return Sizes(min_tokens, max_tokens, hard)
