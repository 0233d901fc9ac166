"""What one owner has, as of one instant, in a store in tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from memolith.adapters.sql.waiting import PendingWorkReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Connection
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.adapters.sql.search import IndexSearch
    from memolith.adapters.sql.spaces import EmbeddingGeneration
    from memolith.domain.items import Span, Trait
    from memolith.domain.recall import SearchFilter
    from memolith.ports.store import Items, Postings, Similarities, UsageStats

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


class SnapshotSearch:
    """The searching half of a snapshot: finds the index at first need, and asks it."""

    def __init__(self, owner: OwnerRow, open_search: Callable[[], IndexSearch]) -> None:
        """Take the owner as they stand at the snapshot, and a way to the index."""
        self._owner_row = owner
        self._open_search = open_search
        self._opened_search: IndexSearch | None = None

    @property
    def counter(self) -> int:
        """See the port."""
        return self._owner_row.counter

    @property
    def profile(self) -> str | None:
        """See the port."""
        return self._owner_row.profile

    @property
    def _search(self) -> IndexSearch:
        if self._opened_search is None:
            self._opened_search = self._open_search()
        return self._opened_search

    def nearest(
        self,
        vector: NDArray[np.int8],
        limit: int,
        scope: SearchFilter,
        *,
        min_cosine: float = -math.inf,
    ) -> Integers:
        """See the port."""
        return self._search.nearest(vector, limit, scope, min_cosine=min_cosine)

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """See the port."""
        return self._search.similarities(vector, numbers)

    def centroid(self, scope: SearchFilter) -> Floats | None:
        """See the port."""
        return self._search.centroid(scope)

    def postings(self, terms: Sequence[str], scope: SearchFilter) -> Postings:
        """See the port."""
        return self._search.postings(terms, scope)

    def find_containing(
        self, words: Sequence[str], scope: SearchFilter
    ) -> tuple[Integers, Integers]:
        """See the port."""
        return self._search.find_containing(words, scope)

    def items(self, numbers: Integers) -> Items:
        """See the port."""
        return self._search.items(numbers)

    def usage_stats(self, numbers: Integers) -> UsageStats:
        """See the port."""
        return self._search.usage_stats(numbers)

    def item_numbers(self, record_ids: Sequence[str], scope: SearchFilter) -> Integers:
        """See the port."""
        return self._search.item_numbers(record_ids, scope)

    def items_with_content(self, content_key: str, limit: int, scope: SearchFilter) -> Integers:
        """See the port."""
        return self._search.items_with_content(content_key, limit, scope)

    def items_with_traits(self, traits: Trait, scope: SearchFilter) -> Integers:
        """See the port."""
        return self._search.items_with_traits(traits, scope)

    def items_in_scope(self, scope: SearchFilter) -> Integers:
        """See the port."""
        return self._search.items_in_scope(scope)

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: SearchFilter) -> Integers:
        """See the port."""
        return self._search.neighbours(numbers, step, scope)

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """See the port."""
        return self._search.passages(numbers)


class SqlSnapshot(SnapshotSearch, PendingWorkReader):
    """A `Snapshot` of a store in tables."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        generation: EmbeddingGeneration,
        open_search: Callable[[], IndexSearch],
    ) -> None:
        """Take a connection within a read transaction."""
        SnapshotSearch.__init__(self, owner, open_search)
        PendingWorkReader.__init__(self, connection, encryption, owner.number, generation)
