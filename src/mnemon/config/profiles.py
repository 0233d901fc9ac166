"""The profiles, with the numbers of the configuration."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from mnemon.errors import InvalidConfiguration
from mnemon.policies.forgetting import Fading
from mnemon.policies.triggers import Cascade, Consolidating
from mnemon.profiles.chunks import ChunksNumbers, chunks
from mnemon.profiles.companion import KINDS, CompanionNumbers, companion
from mnemon.profiles.facts import LASTING, FactsNumbers, facts
from mnemon.profiles.standard import HEADINGS, standard
from mnemon.profiles.tiers import tiers
from mnemon.profiles.timeline import timeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mnemon.config.settings import Fades, Settings
    from mnemon.profiles.model import Profile


def profiles(settings: Settings) -> dict[str, Profile]:
    """Return all profiles by name.

    Raises:
        InvalidConfiguration: Two numbers contradict each other.
    """
    own = settings.standard
    made = (
        standard(own.decay_factor, _fadings(own, HEADINGS)),
        companion(_companion_numbers(settings)),
        facts(_facts_numbers(settings)),
        chunks(_chunks_numbers(settings)),
        tiers(
            settings.tiers.retrieval_top_k,
            settings.tiers.retrieval_min_similarity,
            settings.tiers.duplicate_distance_threshold,
            Cascade(settings.tiers.short_term_threshold, settings.tiers.short_term_keep),
            Cascade(settings.tiers.long_term_threshold, settings.tiers.long_term_keep),
        ),
        timeline(
            settings.timeline.recall_limit,
            settings.timeline.timeline_retention_days,
            Consolidating(
                turns=settings.timeline.consolidation_turn_threshold,
                idle_minutes=settings.timeline.idle_consolidation_minutes,
            ),
        ),
    )
    return {profile.name: profile for profile in made}


def _fadings(section: Fades, kinds: Iterable[str]) -> dict[str, Fading]:
    return {
        kind: Fading(section.decay_modifier(kind), section.importance_floor(kind)) for kind in kinds
    }


def _companion_numbers(settings: Settings) -> CompanionNumbers:
    own = settings.companion
    return CompanionNumbers(
        rag_threshold=settings.rag_threshold,
        merge_threshold=settings.merge_threshold,
        min_importance=settings.min_importance,
        decay_factor=settings.decay_factor,
        rag_limit=settings.rag_limit,
        context_chars=own.context_chars,
        similarity_weight=own.similarity_weight,
        importance_weight=own.importance_weight,
        freshness_weight=own.freshness_weight,
        fadings=_fadings(own, KINDS),
    )


def _facts_numbers(settings: Settings) -> FactsNumbers:
    own = settings.facts
    return FactsNumbers(
        auto_merge_threshold=own.auto_merge_threshold,
        arbitration_threshold=own.arbitration_threshold,
        max_per_user=own.max_per_user,
        max_content_length=own.max_content_length,
        decay_interval_h=own.decay_interval_h,
        vector_weight=own.vector_weight,
        text_weight=own.text_weight,
        decay_weight=own.decay_weight,
        lasting={kind: timedelta(days=own.ttl_days(kind)) for kind in LASTING},
    )


def _chunks_numbers(settings: Settings) -> ChunksNumbers:
    own = settings.chunks
    if own.min_chunk_tokens > own.max_chunk_tokens:
        raise InvalidConfiguration("chunks.min_chunk_tokens", "is over chunks.max_chunk_tokens")
    return ChunksNumbers(
        top_k=settings.rag_limit,
        max_chunk_tokens=own.max_chunk_tokens,
        min_chunk_tokens=own.min_chunk_tokens,
        min_stored_importance=own.min_stored_importance,
        min_recalled_importance=own.min_recalled_importance,
        similarity_weight=own.similarity_weight,
        text_weight=own.text_weight,
        importance_weight=own.importance_weight,
        compression_threshold=own.compression_threshold,
        sessions_to_compress=own.sessions_to_compress,
    )
