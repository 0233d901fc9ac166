"""What a tool's category is in the owner's profile.

A category is, in this order: one of the profile's own kinds or of `standard`'s; `knowledge` or
`timeline`, which every profile has in some form; or a label, kept as a tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memolith.domain.memories import EPISODE, Origin
from memolith.errors import InvalidInput
from memolith.policies.trust import may_hold
from memolith.profiles.standard import HEADINGS

if TYPE_CHECKING:
    from memolith.owner import OwnerMemory

KNOWLEDGE, TIMELINE = "knowledge", "timeline"

_ORDINARY, _SUMMARY = "fact", "summary"

_WITH_MESSAGES = "standard"
"""The profile that recalls messages as they were said."""


class Place(NamedTuple):
    """Where a new memory goes: its kind, and its tags."""

    kind: str
    tags: tuple[str, ...] = ()


class Places(NamedTuple):
    """Where memories are looked for: of which kinds (None: all), with which tags."""

    kinds: frozenset[str] | None = None
    tags: tuple[str, ...] = ()


def place_for(memory: OwnerMemory, category: str) -> Place:
    """Return where an assistant's memory of a category goes."""
    name = _plain(category)
    own = _kind(memory, name)
    if own is not None and may_hold(Origin.ASSISTANT, own):
        return Place(own)
    ordinary = memory.kind_like(_ORDINARY)
    if own is not None:  # what only the user may say is kept as what it is, with a label
        return Place(ordinary, (name,))
    if name == KNOWLEDGE:
        return Place(ordinary)
    return Place(memory.kind_like(_SUMMARY)) if name == TIMELINE else Place(ordinary, (name,))


def places_of(memory: OwnerMemory, category: str) -> Places:
    """Return where memories of a category are."""
    name = _plain(category)
    own = _kind(memory, name)
    if own is not None and may_hold(Origin.ASSISTANT, own):
        return Places(frozenset({own}))
    if own is not None:
        return Places(frozenset({own, memory.kind_like(_ORDINARY)}))
    if name == KNOWLEDGE:
        known = (memory.kind_like(kind) for kind in HEADINGS if kind != _SUMMARY)
        return Places(frozenset(known))
    if name == TIMELINE:
        messages = {EPISODE} if memory.profile() == _WITH_MESSAGES else set()
        return Places(frozenset({memory.kind_like(_SUMMARY)} | messages))
    return Places(tags=(name,))


def _plain(category: str) -> str:
    return category.strip().casefold()


def _kind(memory: OwnerMemory, name: str) -> str | None:
    try:
        return memory.kind_like(name)
    except InvalidInput:
        return None
