"""Searching the vectors of an owner who has many where they are: in the database, by pgvector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.nearby import Near, StoredVectors

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
_NAMED = " AND item IN (SELECT value FROM carray(?4))"

_BY_INDEX, _ONE_BY_ONE = "distance", f"({_DISTANCE}) + 0"
"""In which order: as an index may give it, and as none can."""


class VectorTables(StoredVectors):
    """One owner's tables; pgvector finds the nearest in them."""

    slack = 2e-3
    """What a distance by half precision may be off: components have 11 bits."""

    def near(self, query: Vectors, most: int, items: Integers | None) -> Near:
        """See `StoredVectors`."""
        hidden = self.hidden(query)
        values: tuple[object, ...] = (self._owner, self._connection.vector(hidden), most)
        if items is not None:
            values = (*values, self._connection.many_numbers(items.tolist()))
        named, width = "" if items is None else _NAMED, self.width(hidden)
        rows: list[Row] = []
        # Among very many owners an index gives up before it has found enough of one's own: fewer
        # than were asked for are all there are only where each was compared.
        for order in (_BY_INDEX, _ONE_BY_ONE):
            how = order.format(vector=self._vector, width=width)
            statement = _NEAREST.format(vector=self._vector, width=width, named=named, order=how)
            rows = self._connection.rows(statement, values)
            if len(rows) == most:
                break
        # An index of lists may give them a little out of order.
        beyond = max(row[1] for row in rows) if rows and len(rows) == most else None
        return Near([row[0] for row in rows], [row[2] for row in rows], beyond)
