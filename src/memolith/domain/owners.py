"""Owners: whose memory it is, and figures about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Statistics:
    """How much an owner has stored.

    Attributes:
        total_count: Active memories.
        with_embeddings: Those of them that have a vector.
        avg_importance: Their mean importance, 0..1; 0.0 with none.
        by_kind: Active memories by kind.
        by_state: All memories by state.
        messages: Messages, without the forgotten ones.
        sessions: Conversations.
        vectors: Vectors of all of these.
        vectors_due: Vectors that what searches them, beside the store, does not have yet as they
            are; recall finds them all the same.
    """

    total_count: int = 0
    with_embeddings: int = 0
    avg_importance: float = 0.0
    by_kind: Mapping[str, int] = field(default_factory=dict)
    by_state: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0
    sessions: int = 0
    vectors: int = 0
    vectors_pending: int = 0
