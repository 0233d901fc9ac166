"""Deduplication of the `standard` profile: the same words are the same fact, nothing else is."""

from __future__ import annotations

from collections.abc import Sequence

from memolith.domain.memories import Memory, State


def find_same_fact(candidate_key: str | None, existing: Sequence[Memory]) -> Memory | None:
    """Return the memory that a candidate restates, or None where it is to be inserted.

    Args:
        candidate_key: The key the candidate is to be stored under, if any.
        existing: The owner's memories whose content has the candidate's `content_key`.

    Returns:
        The oldest active one without a key, or with the candidate's: two keys are two memories.
    """
    matching = (
        memory
        for memory in existing
        if memory.state is State.ACTIVE and memory.key in (None, candidate_key)
    )
    return min(matching, key=lambda memory: (memory.created_at, memory.id), default=None)
