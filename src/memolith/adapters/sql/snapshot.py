"""What one owner has, as of one instant, in a store in tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from memolith.adapters.sql.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Connection
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import Sealing
    from memolith.adapters.sql.search import Search
    from memolith.adapters.sql.spaces import Space
    from memolith.domain.items import Span, Trait
    from memolith.domain.recall import Scope
    from memolith.ports.store import Items, Postings, Similarities, Uses

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


class Searching:
    """The searching half of a snapshot: finds the index at first need, and asks it."""

    def __init__(self, owner: OwnerRow, find: Callable[[], Search]) -> None:
        """Take the owner as they stand at the snapshot, and a way to the index."""
        self._seen = owner
        self._find = find
        self._found: Search | None = None

    @property
    def counter(self) -> int:
        """See the port."""
        return self._seen.counter

    @property
    def profile(self) -> str | None:
        """See the port."""
        return self._seen.profile

    @property
    def _search(self) -> Search:
        if self._found is None:
            self._found = self._find()
        return self._found

    def nearest(
        self,
        vector: NDArray[np.int8],
        limit: int,
        scope: Scope,
        *,
        at_least: float = -math.inf,
    ) -> Integers:
        """See the port."""
        return self._search.nearest(vector, limit, scope, at_least=at_least)

    def similarities(self, vector: NDArray[np.int8], numbers: Integers) -> Similarities:
        """See the port."""
        return self._search.similarities(vector, numbers)

    def centroid(self, scope: Scope) -> Floats | None:
        """See the port."""
        return self._search.centroid(scope)

    def postings(self, terms: Sequence[str], scope: Scope) -> Postings:
        """See the port."""
        return self._search.postings(terms, scope)

    def containing(self, words: Sequence[str], scope: Scope) -> tuple[Integers, Integers]:
        """See the port."""
        return self._search.containing(words, scope)

    def items(self, numbers: Integers) -> Items:
        """See the port."""
        return self._search.items(numbers)

    def uses(self, numbers: Integers) -> Uses:
        """See the port."""
        return self._search.uses(numbers)

    def numbers(self, record_ids: Sequence[str], scope: Scope) -> Integers:
        """See the port."""
        return self._search.numbers(record_ids, scope)

    def saying(self, content_key: str, limit: int, scope: Scope) -> Integers:
        """See the port."""
        return self._search.saying(content_key, limit, scope)

    def marked(self, traits: Trait, scope: Scope) -> Integers:
        """See the port."""
        return self._search.marked(traits, scope)

    def within(self, scope: Scope) -> Integers:
        """See the port."""
        return self._search.within(scope)

    def neighbours(self, numbers: Integers, step: Literal[-1, 1], scope: Scope) -> Integers:
        """See the port."""
        return self._search.neighbours(numbers, step, scope)

    def passages(self, numbers: Integers) -> list[list[tuple[Span, int]]]:
        """See the port."""
        return self._search.passages(numbers)


class SqlSnapshot(Searching, Waiting):
    """A `Snapshot` of a store in tables."""

    def __init__(
        self,
        connection: Connection,
        sealing: Sealing,
        owner: OwnerRow,
        space: Space,
        find: Callable[[], Search],
    ) -> None:
        """Take a connection within a read transaction."""
        Searching.__init__(self, owner, find)
        Waiting.__init__(self, connection, sealing, owner.number, space)
