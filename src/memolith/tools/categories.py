"""What a tool's category is in the owner's profile.

A category is, in this order: one of the profile's own kinds or of `standard`'s; `knowledge` or
`timeline`, which every profile has in some form; or a label, kept as a tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memolith.domain.memories import EPISODE, Origin
from memolith.errors import InvalidInput
from memolith.policies.trust import can_have_kind
from memolith.profiles.standard import HEADINGS

if TYPE_CHECKING:
    from memolith.owner import OwnerMemory

KNOWLEDGE, TIMELINE = "knowledge", "timeline"

_FACT, _SUMMARY = "fact", "summary"

_EPISODE_PROFILE = "standard"
"""The profile that recalls messages as they were said."""


class StorageTarget(NamedTuple):
    """Where a new memory goes: its kind, and its tags."""

    kind: str
    tags: tuple[str, ...] = ()


class SearchTarget(NamedTuple):
    """Where memories are looked for: of which kinds (None: all), with which tags."""

    kinds: frozenset[str] | None = None
    tags: tuple[str, ...] = ()


def get_storage_target(memory: OwnerMemory, category: str) -> StorageTarget:
    """Return where an assistant's memory of a category goes."""
    name = _normalise_category(category)
    own = _find_kind(memory, name)
    if own is not None and can_have_kind(Origin.ASSISTANT, own):
        return StorageTarget(own)
    ordinary = memory.equivalent_kind(_FACT)
    if own is not None:  # what only the user may say is kept as what it is, with a label
        return StorageTarget(ordinary, (name,))
    if name == KNOWLEDGE:
        return StorageTarget(ordinary)
    return (
        StorageTarget(memory.equivalent_kind(_SUMMARY))
        if name == TIMELINE
        else StorageTarget(ordinary, (name,))
    )


def get_search_target(memory: OwnerMemory, category: str) -> SearchTarget:
    """Return where memories of a category are."""
    name = _normalise_category(category)
    own = _find_kind(memory, name)
    if own is not None and can_have_kind(Origin.ASSISTANT, own):
        return SearchTarget(frozenset({own}))
    if own is not None:
        return SearchTarget(frozenset({own, memory.equivalent_kind(_FACT)}))
    if name == KNOWLEDGE:
        known = (memory.equivalent_kind(kind) for kind in HEADINGS if kind != _SUMMARY)
        return SearchTarget(frozenset(known))
    if name == TIMELINE:
        messages = {EPISODE} if memory.profile() == _EPISODE_PROFILE else set()
        return SearchTarget(frozenset({memory.equivalent_kind(_SUMMARY)} | messages))
    return SearchTarget(tags=(name,))


def _normalise_category(category: str) -> str:
    return category.strip().casefold()


def _find_kind(memory: OwnerMemory, name: str) -> str | None:
    try:
        return memory.equivalent_kind(name)
    except InvalidInput:
        return None
