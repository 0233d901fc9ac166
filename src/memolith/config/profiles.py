"""The embedder's own thresholds, where the configuration does not say another one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any

from memolith.config.loading import LoadedSettings
from memolith.config.settings import DecaySection, Settings
from memolith.errors import InvalidConfiguration
from memolith.policies.consolidation import Cascade, HistoryCompressionPolicy
from memolith.policies.decay import DecayParameters
from memolith.policies.embedding_models import FITTED_THRESHOLDS, SimilarityThresholds
from memolith.profiles.chunks import ChunksSettings, chunks
from memolith.profiles.companion import KINDS, CompanionSettings, companion
from memolith.profiles.facts import LIFETIMES, FactsSettings, facts
from memolith.profiles.model import Profile
from memolith.profiles.standard import HEADINGS, standard
from memolith.profiles.tiers import tiers
from memolith.profiles.timeline import timeline


def apply_embedder_thresholds(loaded: LoadedSettings, embedder: str) -> LoadedSettings:
    """Return settings in which what was not set is what is right for an embedder.

    One that is not known leaves the settings as they are: the sources' numbers are the defaults.
    """
    own = FITTED_THRESHOLDS.get(embedder)
    if own is None:
        return loaded
    unset = {
        name: value
        for name, value in _iter_threshold_settings(own)
        if loaded.origins[name] == "default"
    }
    origins = {**loaded.origins, **dict.fromkeys(unset, f"fitted to {embedder}")}
    settings = _replace_values(loaded.settings, unset)
    return dataclasses.replace(loaded, settings=settings, origins=origins)


def _iter_threshold_settings(thresholds: SimilarityThresholds) -> Iterator[tuple[str, float]]:
    yield "rag_threshold", thresholds.floor
    yield "merge_threshold", thresholds.merge
    yield "facts.auto_merge_threshold", thresholds.auto_merge
    yield "facts.arbitration_threshold", thresholds.arbitration
    yield "tiers.retrieval_min_similarity", thresholds.least
    yield "tiers.duplicate_distance_threshold", round(1.0 - thresholds.duplicate, 2)


def _replace_values(settings: Settings, values: Mapping[str, float]) -> Settings:
    for name, value in values.items():
        section, _, field = name.rpartition(".")
        change: dict[str, Any] = {field: value}
        if section:
            change = {section: dataclasses.replace(getattr(settings, section), **change)}
        settings = dataclasses.replace(settings, **change)
    return settings


# --- The profiles, with the numbers of the configuration


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
    own = settings.tiers
    return tiers(
        own.retrieval_top_k,
        own.retrieval_min_similarity,
        own.duplicate_distance_threshold,
        Cascade(own.short_term_threshold, own.short_term_keep),
        Cascade(own.long_term_threshold, own.long_term_keep),
    )


def _build_timeline(settings: Settings) -> Profile:
    own = settings.timeline
    consolidating = HistoryCompressionPolicy(
        turns=own.consolidation_turn_threshold, idle_minutes=own.idle_consolidation_minutes
    )
    return timeline(own.recall_limit, own.timeline_retention_days, consolidating)


# --- All profiles there are: those of Memolith, of the configuration, and of packages installed


ENTRY_POINT_GROUP = "memolith.profiles"
"""The entry points by which a package adds profiles: each a `Profile`, or a function that returns
one."""


class ProfileRegistry(Mapping[str, Profile]):
    """Profiles by name, each made at first need.

    Installed packages are asked only for names that nobody else has.
    """

    def __init__(self, factories: Mapping[str, Callable[[], Profile]]) -> None:
        """Begin with what makes these."""
        self._factories = dict(factories)
        self._profiles: dict[str, Profile] = {}
        self._is_complete = False

    @classmethod
    def from_settings(
        cls, loaded: LoadedSettings, embedder: str, *extra_profiles: Profile
    ) -> ProfileRegistry:
        """Return the profiles of a configuration, with an embedder's thresholds, and these.

        Raises:
            InvalidConfiguration: Numbers contradict each other.
        """
        known = profile_factories(apply_embedder_thresholds(loaded, embedder).settings)
        for name, own in loaded.custom_profiles.items():
            base = profile_factories(
                apply_embedder_thresholds(own.loaded_settings, embedder).settings
            )[own.base]
            known[name] = partial(
                _rename_profile, base, name, f"{own.base}, with numbers of its own"
            )
        return cls(
            {**known, **{each.name: partial(_return_profile, each) for each in extra_profiles}}
        )

    def __getitem__(self, name: str) -> Profile:
        """Return the profile of that name.

        Raises:
            KeyError: There is none.
            InvalidConfiguration: A package that should have it can't be used.
        """
        if name not in self._factories:
            self._complete()
        if name not in self._profiles:  # two threads may both make it: what they make is equal
            self._profiles[name] = self._factories[name]()
        return self._profiles[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is one of that name, without making it."""
        if name not in self._factories:
            self._complete()
        return name in self._factories

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        self._complete()
        return iter(self._factories)

    def __len__(self) -> int:
        """Return how many there are."""
        self._complete()
        return len(self._factories)

    def _complete(self) -> None:
        if not self._is_complete:
            from importlib.metadata import entry_points  # slow to import, and seldom needed

            found = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
            new = {
                name: partial(_return_profile, _load_entry_point(entry))
                for name, entry in found.items()
                if name not in self._factories
            }
            self._factories |= new
            self._is_complete = True


def _rename_profile(factory: Callable[[], Profile], name: str, description: str) -> Profile:
    return replace(factory(), name=name, description=description)


def _return_profile(profile: Profile) -> Profile:
    return profile


def _load_entry_point(entry: EntryPoint) -> Profile:
    """Return what an entry point stands for.

    Raises:
        InvalidConfiguration: It can't be loaded, or is no profile of its name.
    """
    try:
        found = entry.load()
    except (ImportError, AttributeError) as error:
        problem = f"can't be loaded from {entry.value}"
        raise InvalidConfiguration(f"profiles.{entry.name}", problem, ENTRY_POINT_GROUP) from error
    made = found if isinstance(found, Profile) else found()
    if not isinstance(made, Profile) or made.name != entry.name:
        problem = f"{entry.value} gives no profile of that name"
        raise InvalidConfiguration(f"profiles.{entry.name}", problem, ENTRY_POINT_GROUP)
    return made
