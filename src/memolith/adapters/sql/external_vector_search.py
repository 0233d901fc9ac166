"""Vector search outside the in-memory index: in the database or an external vector index.

The database, or an external index, proposes candidates. They are compared exactly with the stored
vectors, so that order and ties match the reference implementation. Scopes, keywords and item
columns are still answered by the in-memory index, which then holds no vectors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.connection import Row
from memolith.adapters.sql.embedding_generations import stored_dimension
from memolith.adapters.sql.index import OwnerIndex
from memolith.adapters.sql.index_rows import TableIndexSource
from memolith.adapters.sql.search import IndexSearch
from memolith.domain.recall import SearchFilter
from memolith.errors import InvalidInput
from memolith.policies.indexing import centroid, cosines
from memolith.ports.index import Similarities

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Vectors = NDArray[np.int8]

_MIN_CANDIDATES, _CANDIDATES_PER_RESULT = 200, 4
"""Minimum number of candidate passages, and candidates per result; each retry takes four times as
many. A guess."""

_ITEMS_WITH_VECTORS = (
    "SELECT DISTINCT item FROM passages WHERE owner_id = ? AND {vector} IS NOT NULL ORDER BY item"
)
_ITEM_VECTORS = (
    "SELECT p.item, p.part, p.{vector} FROM carray(?1) AS w CROSS JOIN passages AS p"
    " ON p.owner_id = ?2 AND p.item = w.value WHERE p.{vector} IS NOT NULL ORDER BY p.item, p.part"
)
_MAX_LISTED_ITEMS = 20_000
"""Up to this many allowed items, candidates come from these items only: an exact scan by key."""

_ITEMS_PER_READ = 4_096
"""Number of items whose vectors are read at once: about 3 MB."""


class VectorCandidates(NamedTuple):
    """Passages that may be among the nearest to a query.

    Attributes:
        items: The item of each passage.
        vectors: The stored vector of each passage.
        min_other_distance: Lower bound of the cosine distance of all other passages; None if there
            are no others.
    """

    items: Sequence[int]
    vectors: Sequence[bytes]
    min_other_distance: float | None


class StoredVectorSource(TableIndexSource):
    """One owner's tables, without loading vectors into the index."""

    distance_tolerance = 0.0
    """Maximum error of a distance that `find_candidates` reports."""

    _dimension: int | None = None

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates | None:
        """Return candidates for the nearest to a query; None to compare all (given) items.

        Args:
            query: Shape (dimension,), not zero.
            limit: Minimum number of candidates, if there are as many.
            items: The items to search, ascending; None for all.
        """
        del query, limit, items
        return None

    def new_passages(self, first: int, end: int) -> list[Row]:
        """See `IndexSource.new_passages`; returns NULL instead of vectors."""
        return self._connection.rows(
            "SELECT item, part, start, stop, tokens, length, NULL FROM passages"
            " WHERE owner_id = ? AND item >= ? AND item < ? ORDER BY item, part",
            (self._owner, first, end),
        )

    def dimension(self) -> int:
        """Return the dimension of the store's vectors; 0 before a model was adopted."""
        if self._dimension is None:
            self._dimension = stored_dimension(self._connection) or 0
        return self._dimension

    def decrypt_vectors(self, stored: Sequence[bytes]) -> Vectors:
        """See `IndexSource.decrypt_vectors`."""
        return self._encryption.decrypt_vectors(stored, self.dimension())

    def encrypt_query(self, query: Vectors) -> bytes:
        """Return a query in the stored form of the owner's vectors."""
        return self._encryption.encrypt_vectors(query[None, :])[0]

    def width(self, encrypted: bytes) -> int:
        """Return the number of components of an encrypted vector, which is always even."""
        dimension = self.dimension()
        return dimension if len(encrypted) == dimension else len(encrypted) // 2

    def items_with_vectors(self) -> Integers:
        """Return the items that have vectors, ascending."""
        rows = self._connection.rows(
            _ITEMS_WITH_VECTORS.format(vector=self._vector), (self._owner,)
        )
        return np.array([item for (item,) in rows], dtype=np.int64)

    def read_vectors(self, items: Integers) -> tuple[list[Row], Vectors]:
        """Return the rows (item, part, …) of all vectors of these items, and the vectors."""
        if not len(items):
            return [], np.empty((0, self.dimension()), dtype=np.int8)
        ids = self._connection.bind_integers(items.tolist())
        rows = self._connection.rows(_ITEM_VECTORS.format(vector=self._vector), (ids, self._owner))
        return rows, self.decrypt_vectors([row[2] for row in rows])


class ExternalVectorSearch(IndexSearch):
    """An index search that reads vectors from the tables and takes candidates from outside."""

    def __init__(self, index: OwnerIndex, tables: StoredVectorSource) -> None:
        """Initialise with an index without vectors, and the tables at the same counter."""
        super().__init__(index, tables)
        self._tables = tables

    def nearest(
        self,
        vector: Vectors,
        limit: int,
        scope: SearchFilter,
        *,
        min_cosine: float = -math.inf,
    ) -> Integers:
        """See `Snapshot.nearest`."""
        allowed = self._allowed_items(scope)
        is_none = allowed is not None and not len(allowed)
        if not self._can_compare(vector) or limit <= 0 or is_none:
            return np.empty(0, dtype=np.int64)
        if not vector.any():  # all cosines are 0, so lower numbers come first
            if min_cosine > 0:
                return np.empty(0, dtype=np.int64)
            available = self._tables.items_with_vectors()
            return (available if allowed is None else np.intersect1d(available, allowed))[:limit]
        best, similarities = self._search_candidates(vector, limit, allowed, min_cosine)
        return best[similarities >= min_cosine]

    def _search_candidates(
        self, vector: Vectors, limit: int, allowed: Integers | None, min_cosine: float
    ) -> tuple[Integers, Floats]:
        """Return the nearest of all allowed items, and their cosines.

        Items below `min_cosine` may be missing.
        """
        listed = allowed if allowed is not None and len(allowed) <= _MAX_LISTED_ITEMS else None
        count = max(_MIN_CANDIDATES, _CANDIDATES_PER_RESULT * limit)
        while True:
            candidates = self._tables.find_candidates(vector, count, listed)
            if candidates is None:
                return self._scan_vectors(vector, limit, allowed)
            items = np.array(candidates.items, dtype=np.int64)
            positions = _allowed_positions(items, allowed)
            vectors = self._tables.decrypt_vectors(
                [candidates.vectors[position] for position in positions.tolist()]
            )
            best, similarities = _select_best(items[positions], cosines(vectors, vector), limit)
            if candidates.min_other_distance is None:
                return best, similarities
            max_other_similarity = (
                1 - candidates.min_other_distance + self._tables.distance_tolerance
            )  # upper bound of the cosines of all other passages
            if max_other_similarity < min_cosine or (
                len(best) == limit and similarities[-1] > max_other_similarity
            ):
                return best, similarities
            count *= _CANDIDATES_PER_RESULT

    def _scan_vectors(
        self, vector: Vectors, limit: int, allowed: Integers | None
    ) -> tuple[Integers, Floats]:
        """Return the nearest of all allowed items by comparing each one, and their cosines."""
        best, similarities = np.empty(0, dtype=np.int64), np.empty(0)
        for items in self._item_blocks(allowed):
            rows, vectors = self._tables.read_vectors(items)
            row_items = np.array([row[0] for row in rows], dtype=np.int64)
            best, similarities = _select_best(
                np.concatenate([best, row_items]),
                np.concatenate([similarities, cosines(vectors, vector)]),
                limit,
            )
        return best, similarities

    def _item_blocks(self, allowed: Integers | None) -> Iterator[Integers]:
        items = self.index.items.number.view if allowed is None else allowed
        for start in range(0, len(items), _ITEMS_PER_READ):
            yield items[start : start + _ITEMS_PER_READ]

    def similarities(self, vector: Vectors, numbers: Integers) -> Similarities:
        """See `Snapshot.similarities`."""
        if not self._can_compare(vector):
            none = np.empty(0, dtype=np.int64)
            return Similarities(row=none, part=none, cosine=np.empty(0))
        distinct, indices = np.unique(numbers, return_inverse=True)
        rows_read, vectors = self._tables.read_vectors(distinct)
        items = np.array([row[0] for row in rows_read], dtype=np.int64)
        parts = np.array([row[1] for row in rows_read], dtype=np.int64)
        start = np.searchsorted(items, distinct)
        counts = (np.searchsorted(items, distinct, side="right") - start)[indices]
        ends = np.cumsum(counts)
        rows = np.repeat(start[indices] - ends + counts, counts)
        rows = rows + np.arange(ends[-1] if len(ends) else 0)
        return Similarities(
            row=np.repeat(np.arange(len(numbers)), counts),
            part=parts[rows],
            cosine=cosines(vectors, vector)[rows],
        )

    def centroid(self, scope: SearchFilter) -> Floats | None:
        """See `Snapshot.centroid`. Reads the vectors of all memories in the scope."""
        mask = self._mask(scope)
        items = self.index.items
        selected = items.is_memory.view if mask is None else items.is_memory.view & mask
        vectors = [
            self._tables.read_vectors(items)[1]
            for items in self._item_blocks(items.number.view[selected])
        ]
        return centroid(np.concatenate(vectors)) if vectors else None

    def _allowed_items(self, scope: SearchFilter) -> Integers | None:
        mask = self._mask(scope)
        return None if mask is None else self.index.items.number.view[mask]

    def _can_compare(self, vector: Vectors) -> bool:
        """Whether there are vectors to compare a query with.

        Raises:
            InvalidInput: The stored vectors have another dimension.
        """
        dimension = self._tables.dimension()
        if vector.shape == (dimension,):
            return True
        if len(self._tables.items_with_vectors()):
            problem = f"has shape {vector.shape}; the store's vectors have {(dimension,)}"
            raise InvalidInput("vector", problem)
        return False


def _allowed_positions(items: Integers, allowed: Integers | None) -> Integers:
    """Return the positions of the allowed items."""
    return np.arange(len(items)) if allowed is None else np.flatnonzero(np.isin(items, allowed))


def _select_best(items: Integers, similarities: Floats, limit: int) -> tuple[Integers, Floats]:
    """Return the distinct items with the greatest cosines (ties: lower number), and these."""
    order = np.lexsort((items, -similarities))
    _, first = np.unique(items[order], return_index=True)
    order = order[np.sort(first)[:limit]]
    return items[order], similarities[order]
