"""Going through all memories of an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.domain.memories import Memory, State
    from memolith.ports.store import Snapshot

_PAGE_SIZE = 1_000


def iter_memories(
    snapshot: Snapshot, states: frozenset[State], kinds: frozenset[str] | None = None
) -> Iterator[Memory]:
    """Yield the memories in these states, newest first; of all kinds, or of these."""
    cursor: str | None = None
    while True:
        page = snapshot.page(states=states, kinds=kinds, tags=(), limit=_PAGE_SIZE, cursor=cursor)
        yield from page.memories
        cursor = page.cursor
        if cursor is None:
            return
