"""The embedder's own thresholds, where the configuration does not say another one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from memolith.config.loading import Loaded
from memolith.policies.thresholds import FITTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memolith.config.settings import Settings
    from memolith.policies.thresholds import Thresholds


def fitted(loaded: Loaded, embedder: str) -> Loaded:
    """Return settings in which what was not set is what is right for an embedder.

    One that is not known leaves the settings as they are: the sources' numbers are the defaults.
    """
    own = FITTED.get(embedder)
    if own is None:
        return loaded
    unset = {name: value for name, value in _settings_of(own) if loaded.origins[name] == "default"}
    origins = {**loaded.origins, **dict.fromkeys(unset, f"fitted to {embedder}")}
    settings = _with(loaded.settings, unset)
    return dataclasses.replace(loaded, settings=settings, origins=origins)


def _settings_of(own: Thresholds) -> Iterator[tuple[str, float]]:
    yield "rag_threshold", own.floor
    yield "merge_threshold", own.merge
    yield "facts.auto_merge_threshold", own.auto_merge
    yield "facts.arbitration_threshold", own.arbitration
    yield "tiers.retrieval_min_similarity", own.least
    yield "tiers.duplicate_distance_threshold", round(1.0 - own.duplicate, 2)


def _with(settings: Settings, values: Mapping[str, float]) -> Settings:
    for name, value in values.items():
        section, _, field = name.rpartition(".")
        change: dict[str, Any] = {field: value}
        if section:
            change = {section: dataclasses.replace(getattr(settings, section), **change)}
        settings = dataclasses.replace(settings, **change)
    return settings
