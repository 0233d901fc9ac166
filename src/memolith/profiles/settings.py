"""Declare settings: type, range and description in the annotation of a dataclass field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated

from msgspec import Meta

from memolith.policies.decay import DecayParameters

DEFAULT_TOP_K = 5

Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
TopK = Annotated[int, Meta(ge=1, le=100)]
Days = Annotated[int, Meta(ge=1, le=36_500)]
DecayFactor = Annotated[float, Meta(ge=0.01, le=1.0)]
DecayModifier = Annotated[float, Meta(ge=0.0, le=10.0)]


def describe(
    description: str,
    *,
    ge: float | None = None,
    le: float | None = None,
    threshold: str = "",
    is_top_level: bool = False,
    default_text: str = "",
) -> Meta:
    """Describe a setting.

    Args:
        description: One phrase without a full stop.
        ge: Smallest allowed value.
        le: Largest allowed value.
        threshold: The field of `SimilarityThresholds` that replaces the default.
        is_top_level: Whether users set it under `[memory]` instead of the section of its profile.
        default_text: The default as documented, if the value alone does not explain it.
    """
    extra = {"threshold": threshold, "is_top_level": is_top_level, "default_text": default_text}
    return Meta(ge=ge, le=le, description=description, extra=extra)


def describe_modifier(memories: str) -> Meta:
    """Describe a field `<kind>_decay_modifier`."""
    return describe(f"decay rate of {memories}, relative to `decay_factor`; 0: no decay")


def describe_floor(memories: str) -> Meta:
    """Describe a field `<kind>_importance_floor`."""
    return describe(f"minimum strength of {memories}")


def get_decay_parameters(settings: object, kinds: Iterable[str]) -> Mapping[str, DecayParameters]:
    """Return the `<kind>_decay_modifier` and `<kind>_importance_floor` of each kind."""
    return MappingProxyType(
        {
            kind: DecayParameters(
                getattr(settings, f"{kind}_decay_modifier"),
                getattr(settings, f"{kind}_importance_floor"),
            )
            for kind in kinds
        }
    )
