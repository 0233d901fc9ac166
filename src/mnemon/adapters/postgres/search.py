"""Searching the vectors of an owner who has many where they are: in the database, by pgvector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemon.adapters.sql.nearby import Near, StoredVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Vectors = NDArray[np.int8]

_NEAREST = (
    "SELECT item, {vector}::halfvec({width}) <=> ?2::halfvec({width}) AS distance, {vector}"
    " FROM passages WHERE owner_id = ?1 AND {vector} IS NOT NULL ORDER BY distance LIMIT ?3"
)
_NEAREST_OF = _NEAREST.replace(" ORDER BY", " AND item IN (SELECT value FROM carray(?4)) ORDER BY")


class VectorTables(StoredVectors):
    """One owner's tables; pgvector finds the nearest in them."""

    slack = 2e-3
    """What a distance by half precision may be off: components have 11 bits."""

    def near(self, query: Vectors, most: int, items: Integers | None) -> Near:
        """See `StoredVectors`."""
        hidden = self.hidden(query)
        width = self.width(hidden)
        values = (self._owner, self._connection.vector(hidden), most)
        if items is None:
            nearest = _NEAREST.format(width=width, vector=self._vector)
            rows = self._connection.rows(nearest, values)
        else:
            named = self._connection.many_numbers(items.tolist())
            nearest = _NEAREST_OF.format(width=width, vector=self._vector)
            rows = self._connection.rows(nearest, (*values, named))
        # An index of lists may give them a little out of order.
        beyond = max(row[1] for row in rows) if rows and len(rows) == most else None
        return Near([row[0] for row in rows], [row[2] for row in rows], beyond)
