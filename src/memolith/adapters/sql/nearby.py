"""Searching the vectors of an owner where they are, not in the index in memory.

Something else names candidates: the database itself, or a structure beside it that is made for
this. What it names is compared exactly here, with the vectors of the tables, so that order and
ties are the reference's. What the scope lets through, keywords and the items' columns are
answered from the index in memory, which then holds no vectors.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memolith.adapters.sql.indexing import Tables
from memolith.adapters.sql.search import Search
from memolith.adapters.sql.spaces import stored_dimension
from memolith.errors import InvalidInput
from memolith.policies.vectors import centroid, cosines
from memolith.ports.columns import Similarities

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Row
    from memolith.adapters.sql.index import OwnerIndex
    from memolith.domain.recall import Scope

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Vectors = NDArray[np.int8]

_FETCHED_AT_LEAST, _FETCHED_PER_RESULT = 200, 4
"""How many of the nearest passages are looked at first; then four times as many (a guess)."""

_WITH_VECTORS = (
    "SELECT DISTINCT item FROM passages WHERE owner_id = ? AND {vector} IS NOT NULL ORDER BY item"
)
_VECTORS_OF = (
    "SELECT p.item, p.part, p.{vector} FROM carray(?1) AS w CROSS JOIN passages AS p"
    " ON p.owner_id = ?2 AND p.item = w.value WHERE p.{vector} IS NOT NULL ORDER BY p.item, p.part"
)
_NAMED_AT_MOST = 20_000
"""Of so many items the vectors are compared one by one: an exact scan by the key."""

_READ = 4_096
"""Items whose vectors are read at a time: some 3 MB."""


class Near(NamedTuple):
    """Passages that may be among the nearest to a query.

    Attributes:
        items: The item of each.
        stored: The vector of each, as the tables hold it.
        beyond: The cosine distance under which no other passage is; None: there is no other.
    """

    items: Sequence[int]
    stored: Sequence[bytes]
    beyond: float | None


class StoredVectors(Tables):
    """One owner's tables, whose vectors stay where they are."""

    slack = 0.0
    """What a distance that `near` was told by may be off."""

    _dimension: int | None = None

    def near(self, query: Vectors, most: int, items: Integers | None) -> Near | None:
        """Return candidates for the nearest to a query; None: compare all, or all the named.

        Args:
            query: Shape (dimension,), not zero.
            most: How many at least, if there are as many.
            items: Among the passages of which items, ascending; None: all.
        """
        del query, most, items
        return None

    def new_passages(self, first: int, end: int) -> list[Row]:
        """See `IndexSource`: without vectors."""
        return self._connection.rows(
            "SELECT item, part, start, stop, tokens, length, NULL FROM passages"
            " WHERE owner_id = ? AND item >= ? AND item < ? ORDER BY item, part",
            (self._owner, first, end),
        )

    def dimension(self) -> int:
        """Return the length of the store's vectors; 0 before a model was adopted."""
        if self._dimension is None:
            self._dimension = stored_dimension(self._connection) or 0
        return self._dimension

    def shown(self, stored: Sequence[bytes]) -> Vectors:
        """See `IndexSource`."""
        return self._sealing.show(stored, self.dimension())

    def hidden(self, query: Vectors) -> bytes:
        """Return a query as the owner's vectors are stored."""
        return self._sealing.hide(query[None, :])[0]

    def width(self, hidden: bytes) -> int:
        """Return how many components a hidden vector has: they are even in number."""
        dimension = self.dimension()
        return dimension if len(hidden) == dimension else len(hidden) // 2

    def with_vectors(self) -> Integers:
        """Return the items that have vectors, ascending."""
        rows = self._connection.rows(_WITH_VECTORS.format(vector=self._vector), (self._owner,))
        return np.array([item for (item,) in rows], dtype=np.int64)

    def vectors_of(self, items: Integers) -> tuple[list[Row], Vectors]:
        """Return rows of item and part of all vectors of some items, and the vectors."""
        if not len(items):
            return [], np.empty((0, self.dimension()), dtype=np.int8)
        named = self._connection.many_numbers(items.tolist())
        rows = self._connection.rows(_VECTORS_OF.format(vector=self._vector), (named, self._owner))
        return rows, self.shown([row[2] for row in rows])


class NearbySearch(Search):
    """Answers what is about vectors from the tables, and from what names candidates."""

    def __init__(self, index: OwnerIndex, tables: StoredVectors) -> None:
        """Take a state without vectors, and the tables at the same counter."""
        super().__init__(index, tables)
        self._tables = tables

    def nearest(
        self,
        vector: Vectors,
        limit: int,
        scope: Scope,
        *,
        at_least: float = -math.inf,
    ) -> Integers:
        """See the port."""
        allowed = self._allowed(scope)
        is_none = allowed is not None and not len(allowed)
        if not self._fits(vector) or limit <= 0 or is_none:
            return np.empty(0, dtype=np.int64)
        if not vector.any():  # at right angles to all: the lower numbers come first
            if at_least > 0:
                return np.empty(0, dtype=np.int64)
            there = self._tables.with_vectors()
            return (there if allowed is None else np.intersect1d(there, allowed))[:limit]
        found, compared = self._found(vector, limit, allowed, at_least)
        return found[compared >= at_least]

    def _found(
        self, vector: Vectors, limit: int, allowed: Integers | None, at_least: float
    ) -> tuple[Integers, Floats]:
        """Return the nearest of all allowed items, and their cosines.

        Less near ones than `at_least` may lack.
        """
        named = allowed if allowed is not None and len(allowed) <= _NAMED_AT_MOST else None
        most = max(_FETCHED_AT_LEAST, _FETCHED_PER_RESULT * limit)
        while True:
            near = self._tables.near(vector, most, named)
            if near is None:
                return self._scanned(vector, limit, allowed)
            items = np.array(near.items, dtype=np.int64)
            kept = _among(items, allowed)
            vectors = self._tables.shown([near.stored[place] for place in kept.tolist()])
            found, compared = _best(items[kept], cosines(vectors, vector), limit)
            if near.beyond is None:
                return found, compared
            others = 1 - near.beyond + self._tables.slack  # have no greater cosine
            if others < at_least or (len(found) == limit and compared[-1] > others):
                return found, compared
            most *= _FETCHED_PER_RESULT

    def _scanned(
        self, vector: Vectors, limit: int, allowed: Integers | None
    ) -> tuple[Integers, Floats]:
        """Return the nearest of all allowed items, each compared, and their cosines."""
        best, compared = np.empty(0, dtype=np.int64), np.empty(0)
        for items in self._blocks(allowed):
            rows, vectors = self._tables.vectors_of(items)
            of = np.array([row[0] for row in rows], dtype=np.int64)
            best, compared = _best(
                np.concatenate([best, of]),
                np.concatenate([compared, cosines(vectors, vector)]),
                limit,
            )
        return best, compared

    def _blocks(self, allowed: Integers | None) -> Iterator[Integers]:
        items = self.index.items.number.view if allowed is None else allowed
        for start in range(0, len(items), _READ):
            yield items[start : start + _READ]

    def similarities(self, vector: Vectors, numbers: Integers) -> Similarities:
        """See the port."""
        if not self._fits(vector):
            none = np.empty(0, dtype=np.int64)
            return Similarities(row=none, part=none, cosine=np.empty(0))
        different, places = np.unique(numbers, return_inverse=True)
        of, vectors = self._tables.vectors_of(different)
        items = np.array([row[0] for row in of], dtype=np.int64)
        parts = np.array([row[1] for row in of], dtype=np.int64)
        start = np.searchsorted(items, different)
        counts = (np.searchsorted(items, different, side="right") - start)[places]
        ends = np.cumsum(counts)
        rows = np.repeat(start[places] - ends + counts, counts)
        rows = rows + np.arange(ends[-1] if len(ends) else 0)
        return Similarities(
            row=np.repeat(np.arange(len(numbers)), counts),
            part=parts[rows],
            cosine=cosines(vectors, vector)[rows],
        )

    def centroid(self, scope: Scope) -> Floats | None:
        """See the port. Reads the vectors of all memories in the scope."""
        mask = self._mask(scope)
        items = self.index.items
        kept = items.is_memory.view if mask is None else items.is_memory.view & mask
        vectors = [
            self._tables.vectors_of(items)[1] for items in self._blocks(items.number.view[kept])
        ]
        return centroid(np.concatenate(vectors)) if vectors else None

    def _allowed(self, scope: Scope) -> Integers | None:
        mask = self._mask(scope)
        return None if mask is None else self.index.items.number.view[mask]

    def _fits(self, vector: Vectors) -> bool:
        """Whether there are vectors that a query can be compared with.

        Raises:
            InvalidInput: There are, of another length.
        """
        dimension = self._tables.dimension()
        if vector.shape == (dimension,):
            return True
        if len(self._tables.with_vectors()):
            problem = f"has shape {vector.shape}; the store's vectors have {(dimension,)}"
            raise InvalidInput("vector", problem)
        return False


def _among(items: Integers, allowed: Integers | None) -> Integers:
    """Return the places of the items that are allowed."""
    return np.arange(len(items)) if allowed is None else np.flatnonzero(np.isin(items, allowed))


def _best(items: Integers, compared: Floats, limit: int) -> tuple[Integers, Floats]:
    """Return the different items of the greatest cosines, ties by lower number, and these."""
    order = np.lexsort((items, -compared))
    _, first = np.unique(items[order], return_index=True)
    order = order[np.sort(first)[:limit]]
    return items[order], compared[order]
