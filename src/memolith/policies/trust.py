"""How far what is stored is believed: by who said it, and whether it tries to instruct a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Memory, Origin, Trait
from memolith.domain.messages import Role

PERSONAL_KINDS = frozenset({"identity", "preference", "correction", "personal", "procedural"})
"""What only a person can say of themselves; what an assistant or an import says is a claim."""

_USER_ONLY_KINDS = frozenset({"procedural"})
"""What steers an assistant in every answer: nobody else may claim it."""

_EXTERNAL_ORIGINS = frozenset({Origin.TOOL, Origin.DOCUMENT})


_RANKS = {
    Origin.USER: 0,
    Origin.SUMMARY: 1,
    Origin.ASSISTANT: 2,
    Origin.IMPORT: 2,
    Origin.DOCUMENT: 3,
    Origin.TOOL: 3,
}
"""Who is believed before whom. A summary is made of what is kept, by its least trusted source."""


_BY_ROLE: Mapping[Role | None, Origin] = {
    Role.USER: Origin.USER,
    Role.ASSISTANT: Origin.ASSISTANT,
    Role.TOOL: Origin.TOOL,
}


def is_outranked(origin: Origin, *, by: Origin) -> bool:
    """Tell whether one origin is believed less than another."""
    return _RANKS[origin] > _RANKS[by]


def get_least_trusted(*origins: Origin) -> Origin:
    """Return the origin that is believed least, the first of equals."""
    return max(origins, key=_RANKS.__getitem__)


def get_origin(role: Role | None) -> Origin:
    """Return the origin of what somebody of that role says in a conversation.

    Another person's words are as trusted as a document's: they tell of themselves, not of the
    user.
    """
    return _BY_ROLE.get(role, Origin.DOCUMENT)


def resolve_origins(roles: Iterable[Role | None]) -> list[Origin]:
    """Return the origin of what is said in an exchange, in order, by who says it.

    An assistant who has heard tools or other people there may only repeat them, in whatever words:
    it counts as the least trusted of them from then on.
    """
    said, assistant = [], Origin.ASSISTANT
    for role in roles:
        origin = get_origin(role)
        if origin in _EXTERNAL_ORIGINS and role is not Role.SYSTEM:
            assistant = get_least_trusted(assistant, origin)
        said.append(assistant if role is Role.ASSISTANT else origin)
    return said


def can_have_kind(origin: Origin, kind: str) -> bool:
    """Tell whether a memory of that origin may be of that kind."""
    if kind in _USER_ONLY_KINDS:
        return origin is Origin.USER
    return kind not in PERSONAL_KINDS or origin not in _EXTERNAL_ORIGINS


def get_trusted_kind(origin: Origin, kind: str, external_kinds: Mapping[Origin, str]) -> str:
    """Return the kind that a text was judged to be, or what it is if it can't be believed.

    Args:
        origin: Who said it.
        kind: As judged by the text alone.
        outside_kinds: What is taken for what, by origin, where it speaks of the user.
    """
    return kind if can_have_kind(origin, kind) else external_kinds.get(origin, kind)


def is_claim(memory: Memory) -> bool:
    """Tell whether a memory says of the user what the user did not say."""
    return memory.kind in PERSONAL_KINDS and memory.origin is not Origin.USER


def is_quarantined(traits: int, *, by_user: bool) -> bool:
    """Tell whether an item waits for a review: suspicious, not of the user, not reviewed."""
    return not by_user and traits & (Trait.SUSPICIOUS | Trait.REVIEWED) == Trait.SUSPICIOUS


def find_quarantined(
    traits: NDArray[np.int32], by_user: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """Return which items wait for a review; None: not one."""
    marked = (traits & int(Trait.SUSPICIOUS | Trait.REVIEWED)) == int(Trait.SUSPICIOUS)
    waiting: NDArray[np.bool_] = marked & ~by_user
    return waiting if waiting.any() else None
