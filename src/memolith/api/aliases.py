"""Aliases of methods of `OwnerMemory`, under names that other memory systems use."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from memolith.domain.memories import Memory, Page
from memolith.domain.recall import RecallResult, SearchMode

if TYPE_CHECKING:
    from memolith.services.learn import LearnResult

PAGE_SIZE = 50
"""The default number of memories on a page."""


class _AliasedMemory(Protocol):
    """The methods that the aliases call."""

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
    """Methods that call another method of `OwnerMemory` with preset arguments."""

    def store_fact(self: _AliasedMemory, content: str, importance: float | None = None) -> Memory:
        """Store a memory of kind "fact", or of the profile's equivalent kind."""
        return self.remember(content, kind=self.equivalent_kind("fact"), importance=importance)

    def store_preference(
        self: _AliasedMemory, content: str, importance: float | None = None
    ) -> Memory:
        """Store a memory of kind "preference", or of the profile's equivalent kind."""
        return self.remember(
            content, kind=self.equivalent_kind("preference"), importance=importance
        )

    def store_correction(
        self: _AliasedMemory, content: str, importance: float | None = None
    ) -> Memory:
        """Store a memory of kind "correction", or of the profile's equivalent kind."""
        return self.remember(
            content, kind=self.equivalent_kind("correction"), importance=importance
        )

    def search(self: _AliasedMemory, query: str, top_k: int = 5) -> RecallResult:
        """Return the nearest results by vector. The recall does not count as a use."""
        return self.recall(query, top_k=top_k, mode="vector", touch=False)

    def hybrid_search(self: _AliasedMemory, query: str, top_k: int = 5) -> RecallResult:
        """Return the most relevant results by vectors and keywords."""
        return self.recall(query, top_k=top_k)

    def retrieve_context(self: _AliasedMemory, query: str, limit: int = 5) -> str:
        """Return at most `limit` relevant results as text for a system prompt."""
        return self.context(query, top_k=limit)

    def process_exchange(
        self: _AliasedMemory, user: str, assistant: str, *, at: datetime | None = None
    ) -> LearnResult:
        """Log one exchange and learn memories from it."""
        return self.learn(user, assistant, at=at)

    def memories(
        self: _AliasedMemory, limit: int = PAGE_SIZE, offset: int = 0
    ) -> tuple[tuple[Memory, ...], int]:
        """Return a page of active memories, newest first, and the total number of active memories.

        With an offset past the end, both are empty: no memories and a total of 0.
        """
        page = self.list(limit=limit, offset=offset)
        return (page.memories, page.total) if page.memories else ((), 0)

    def active_count(self: _AliasedMemory) -> int:
        """Return the number of active memories."""
        return self.list(limit=1).total
