"""Kinds across profiles: what a memory of one is in another, by way of `standard`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class KindMapping(Protocol):
    """What a profile says of its kinds."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its own kinds."""
        ...

    @property
    def standard_kinds(self) -> Mapping[str, str]:
        """The kind of `standard` that each of them is, where that has another name."""
        ...

    @property
    def own_kinds(self) -> Mapping[str, str]:
        """The kind of its own that each kind of `standard` becomes, likewise."""
        ...


def convert_kind(kind: str, source: KindMapping, target: KindMapping) -> str:
    """Return what a kind of one profile is in another; what has no like is its ordinary kind."""
    return get_profile_kind(source.standard_kinds.get(kind, kind), target)


def get_profile_kind(standard_kind: str, target: KindMapping) -> str:
    """Return what a profile calls a kind of `standard`; without a like, its ordinary kind."""
    own = target.own_kinds.get(standard_kind, standard_kind)
    return own if own in target.kinds else target.own_kinds.get("fact", target.kinds[-1])


def parse_previous_kinds(stored: str | None) -> dict[str, str]:
    """Return the kinds that a memory had in other profiles, by their names.

    Args:
        kept: As a memory keeps them: "profile:kind", several of them with a space between.
    """
    pairs = (each.partition(":") for each in (stored or "").split())
    return {profile: kind for profile, _, kind in pairs if kind}


def add_previous_kind(stored: str | None, profile: str, kind: str) -> str:
    """Return what a memory keeps, with the kind it had in one more profile."""
    kinds = {**parse_previous_kinds(stored), profile: kind}
    return " ".join(f"{name}:{each}" for name, each in sorted(kinds.items()))
