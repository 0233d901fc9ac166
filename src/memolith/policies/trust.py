"""Trust in stored text: rank origins, restrict kinds by origin, and quarantine suspicious items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Memory, Origin, Trait
from memolith.domain.messages import Role

PERSONAL_KINDS = frozenset({"identity", "preference", "correction", "personal", "procedural"})
"""Kinds that only a person can state about themselves; from an assistant or an import they are
claims.
"""

_USER_ONLY_KINDS = frozenset({"procedural"})
"""Kinds that influence every answer of an assistant; no other origin may have them."""

_EXTERNAL_ORIGINS = frozenset({Origin.TOOL, Origin.DOCUMENT})


_RANKS = {
    Origin.USER: 0,
    Origin.SUMMARY: 1,
    Origin.ASSISTANT: 2,
    Origin.IMPORT: 2,
    Origin.DOCUMENT: 3,
    Origin.TOOL: 3,
}
"""Trust ranks, most trusted first. A summary is made of stored text and limited by its least
trusted source.
"""


_BY_ROLE: Mapping[Role | None, Origin] = {
    Role.USER: Origin.USER,
    Role.ASSISTANT: Origin.ASSISTANT,
    Role.TOOL: Origin.TOOL,
}


def is_outranked(origin: Origin, *, by: Origin) -> bool:
    """Return whether one origin is less trusted than another."""
    return _RANKS[origin] > _RANKS[by]


def get_least_trusted(*origins: Origin) -> Origin:
    """Return the least trusted origin, the first of equals."""
    return max(origins, key=_RANKS.__getitem__)


def get_origin(role: Role | None) -> Origin:
    """Return the origin of messages with that role.

    Another person's words are trusted like a document: they describe that person, not the user.
    """
    return _BY_ROLE.get(role, Origin.DOCUMENT)


def resolve_origins(roles: Iterable[Role | None]) -> list[Origin]:
    """Return the origin of each message of an exchange, by its role.

    After messages from tools or other people, an assistant may merely repeat them. From then on it
    counts as the least trusted of them.
    """
    resolved, assistant = [], Origin.ASSISTANT
    for role in roles:
        origin = get_origin(role)
        if origin in _EXTERNAL_ORIGINS and role is not Role.SYSTEM:
            assistant = get_least_trusted(assistant, origin)
        resolved.append(assistant if role is Role.ASSISTANT else origin)
    return resolved


def can_have_kind(origin: Origin, kind: str) -> bool:
    """Return whether a memory of that origin may have that kind."""
    if kind in _USER_ONLY_KINDS:
        return origin is Origin.USER
    return kind not in PERSONAL_KINDS or origin not in _EXTERNAL_ORIGINS


def get_trusted_kind(origin: Origin, kind: str, external_kinds: Mapping[Origin, str]) -> str:
    """Return the kind of a text, replaced if its origin may not have it.

    Args:
        origin: The origin of the text.
        kind: The kind by the text alone.
        external_kinds: The replacement by origin.
    """
    return kind if can_have_kind(origin, kind) else external_kinds.get(origin, kind)


def is_claim(memory: Memory) -> bool:
    """Return whether a memory is a personal statement that the user did not make."""
    return memory.kind in PERSONAL_KINDS and memory.origin is not Origin.USER


def is_quarantined(traits: int, *, by_user: bool) -> bool:
    """Return whether an item awaits review: suspicious, not from the user, not reviewed."""
    return not by_user and traits & (Trait.SUSPICIOUS | Trait.REVIEWED) == Trait.SUSPICIOUS


def find_quarantined(
    traits: NDArray[np.int32], by_user: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Return a mask of the items that await review; None if there are none."""
    suspicious = (traits & int(Trait.SUSPICIOUS | Trait.REVIEWED)) == int(Trait.SUSPICIOUS)
    quarantined: NDArray[np.bool_] = suspicious & ~by_user
    return quarantined if quarantined.any() else None
