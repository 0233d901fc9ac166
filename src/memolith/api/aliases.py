"""Shorthands: the names under which users of other memory systems know the same things."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from memolith.domain.memories import Memory, Page
from memolith.domain.recall import RecallResult, SearchMode

if TYPE_CHECKING:
    from memolith.services.learn import LearnResult

PAGE_SIZE = 50


class _AliasedMemory(Protocol):
    """What the shorthands call; `OwnerMemory` has it."""

    def equivalent_kind(self, kind: str) -> str: ...
    def remember(
        self, content: str, *, kind: str | None = None, importance: float | None = None
    ) -> Memory: ...
    def learn(
        self, user: str, assistant: str | None = None, *, at: datetime | None = None
    ) -> LearnResult: ...
    def recall(
        self, query: str, *, top_k: int = 5, mode: SearchMode = "hybrid", touch: bool = True
    ) -> RecallResult: ...
    def context(self, query: str, *, top_k: int = 5) -> str: ...
    def list(self, *, limit: int = PAGE_SIZE, offset: int = 0) -> Page: ...


class Aliases:
    """Calls of the methods of `OwnerMemory` with some arguments filled in."""

    def store_fact(self: _AliasedMemory, content: str, importance: float | None = None) -> Memory:
        """Store a memory of kind "fact", or what the profile calls one."""
        return self.remember(content, kind=self.equivalent_kind("fact"), importance=importance)

    def store_preference(
        self: _AliasedMemory, content: str, importance: float | None = None
    ) -> Memory:
        """Store a memory of kind "preference", or what the profile calls one."""
        return self.remember(
            content, kind=self.equivalent_kind("preference"), importance=importance
        )

    def store_correction(
        self: _AliasedMemory, content: str, importance: float | None = None
    ) -> Memory:
        """Store a memory of kind "correction", or what the profile calls one."""
        return self.remember(
            content, kind=self.equivalent_kind("correction"), importance=importance
        )

    def search(self: _AliasedMemory, query: str, top_k: int = 5) -> RecallResult:
        """Return the nearest by vector alone; does not count as a use."""
        return self.recall(query, top_k=top_k, mode="vector", touch=False)

    def hybrid_search(self: _AliasedMemory, query: str, top_k: int = 5) -> RecallResult:
        """Return what is relevant by vector and by word."""
        return self.recall(query, top_k=top_k)

    def retrieve_context(self: _AliasedMemory, query: str, limit: int = 5) -> str:
        """Return what is relevant as text for a prompt, of at most so many results."""
        return self.context(query, top_k=limit)

    def process_exchange(
        self: _AliasedMemory, user: str, assistant: str, *, at: datetime | None = None
    ) -> LearnResult:
        """Take in one exchange."""
        return self.learn(user, assistant, at=at)

    def memories(
        self: _AliasedMemory, limit: int = PAGE_SIZE, offset: int = 0
    ) -> tuple[tuple[Memory, ...], int]:
        """Return active memories, newest first, and how many there are in all.

        An offset past the end gives no memory and a total of 0: nothing was counted.
        """
        page = self.list(limit=limit, offset=offset)
        return (page.memories, page.total) if page.memories else ((), 0)

    def active_count(self: _AliasedMemory) -> int:
        """Return how many memories are active."""
        return self.list(limit=1).total
