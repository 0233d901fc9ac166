"""The profiles, with the numbers of the configuration.

What a profile consists of is imported when it is made: most stores use one, and all six take as
long to import as numpy does.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from memolith.errors import InvalidConfiguration
from memolith.policies.forgetting import DecayParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memolith.config.settings import DecaySection, Settings
    from memolith.profiles.model import Profile


def profile_factories(settings: Settings) -> dict[str, Callable[[], Profile]]:
    """Return what makes each profile, by name.

    Raises:
        InvalidConfiguration: Two numbers contradict each other.
    """
    chunks = settings.chunks
    if chunks.min_chunk_tokens > chunks.max_chunk_tokens:
        raise InvalidConfiguration("chunks.min_chunk_tokens", "is over chunks.max_chunk_tokens")
    made = {
        "standard": _build_standard,
        "companion": _build_companion,
        "facts": _build_facts,
        "chunks": _build_chunks,
        "tiers": _build_tiers,
        "timeline": _build_timeline,
    }
    return {name: partial(make, settings) for name, make in made.items()}


def _build_standard(settings: Settings) -> Profile:
    from memolith.profiles.standard import HEADINGS, standard

    own = settings.standard
    return standard(own.decay_factor, _build_decay_parameters(own, HEADINGS))


def _build_decay_parameters(
    section: DecaySection, kinds: Iterable[str]
) -> dict[str, DecayParameters]:
    return {
        kind: DecayParameters(section.decay_modifier(kind), section.importance_floor(kind))
        for kind in kinds
    }


def _build_companion(settings: Settings) -> Profile:
    from memolith.profiles.companion import KINDS, CompanionSettings, companion

    own = settings.companion
    numbers = CompanionSettings(
        rag_threshold=settings.rag_threshold,
        merge_threshold=settings.merge_threshold,
        min_importance=settings.min_importance,
        decay_factor=settings.decay_factor,
        rag_limit=settings.rag_limit,
        context_chars=own.context_chars,
        similarity_weight=own.similarity_weight,
        importance_weight=own.importance_weight,
        freshness_weight=own.freshness_weight,
        decay_parameters=_build_decay_parameters(own, KINDS),
    )
    return companion(numbers)


def _build_facts(settings: Settings) -> Profile:
    from memolith.profiles.facts import LIFETIMES, FactsSettings, facts

    own = settings.facts
    numbers = FactsSettings(
        auto_merge_threshold=own.auto_merge_threshold,
        arbitration_threshold=own.arbitration_threshold,
        max_per_user=own.max_per_user,
        max_content_length=own.max_content_length,
        decay_interval_h=own.decay_interval_h,
        vector_weight=own.vector_weight,
        text_weight=own.text_weight,
        decay_weight=own.decay_weight,
        lifetimes={kind: timedelta(days=own.ttl_days(kind)) for kind in LIFETIMES},
    )
    return facts(numbers)


def _build_chunks(settings: Settings) -> Profile:
    from memolith.profiles.chunks import ChunksSettings, chunks

    own = settings.chunks
    numbers = ChunksSettings(
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
    return chunks(numbers)


def _build_tiers(settings: Settings) -> Profile:
    from memolith.policies.triggers import Cascade
    from memolith.profiles.tiers import tiers

    own = settings.tiers
    return tiers(
        own.retrieval_top_k,
        own.retrieval_min_similarity,
        own.duplicate_distance_threshold,
        Cascade(own.short_term_threshold, own.short_term_keep),
        Cascade(own.long_term_threshold, own.long_term_keep),
    )


def _build_timeline(settings: Settings) -> Profile:
    from memolith.policies.triggers import HistoryCompressionPolicy
    from memolith.profiles.timeline import timeline

    own = settings.timeline
    consolidating = HistoryCompressionPolicy(
        turns=own.consolidation_turn_threshold, idle_minutes=own.idle_consolidation_minutes
    )
    return timeline(own.recall_limit, own.timeline_retention_days, consolidating)
