"""The embedder's own thresholds, where the configuration does not say another one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from memolith.config.loading import LoadedSettings
from memolith.policies.thresholds import FITTED_THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memolith.config.settings import Settings
    from memolith.policies.thresholds import SimilarityThresholds


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
