"""Searching the vectors of an owner who has many where they are: in the database, by pgvector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.nearby import StoredVectorSource, VectorCandidates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Row

    Integers = NDArray[np.int64]
    Vectors = NDArray[np.int8]

_DISTANCE = "{vector}::halfvec({width}) <=> ?2::halfvec({width})"
_NEAREST = (
    f"SELECT item, {_DISTANCE} AS distance, {{vector}} FROM passages"
    " WHERE owner_id = ?1 AND {vector} IS NOT NULL{named} ORDER BY {order} LIMIT ?3"
)
_AMONG_ITEMS = " AND item IN (SELECT value FROM carray(?4))"

_INDEX_ORDER, _EXACT_ORDER = "distance", f"({_DISTANCE}) + 0"
"""In which order: as an index may give it, and as none can."""


class PgvectorTables(StoredVectorSource):
    """One owner's tables; pgvector finds the nearest in them."""

    distance_tolerance = 2e-3
    """What a distance by half precision may be off: components have 11 bits."""

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates:
        """See `StoredVectors`."""
        hidden = self.encrypt_query(query)
        values: tuple[object, ...] = (self._owner, self._connection.bind_vector(hidden), limit)
        if items is not None:
            values = (*values, self._connection.bind_integers(items.tolist()))
        named, width = "" if items is None else _AMONG_ITEMS, self.width(hidden)
        rows: list[Row] = []
        # Among very many owners an index gives up before it has found enough of one's own: fewer
        # than were asked for are all there are only where each was compared.
        for order in (_INDEX_ORDER, _EXACT_ORDER):
            how = order.format(vector=self._vector, width=width)
            statement = _NEAREST.format(vector=self._vector, width=width, named=named, order=how)
            rows = self._connection.rows(statement, values)
            if len(rows) == limit:
                break
        # An index of lists may give them a little out of order.
        beyond = max(row[1] for row in rows) if rows and len(rows) == limit else None
        return VectorCandidates([row[0] for row in rows], [row[2] for row in rows], beyond)
