"""A store in one SQLite file whose vectors are searched there, by the functions of sqlite-vec.

By an exact scan of the owner's rows. A table of its own, with the owner as partition key, would
take 79 KB a vector for owners who have few (measured), and find the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memolith.adapters.sql.nearby import ExternalVectorSearch, StoredVectorSource, VectorCandidates
from memolith.adapters.sqlite.connections import Connection
from memolith.adapters.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memolith.adapters.sql import connection as shared
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.adapters.sql.search import IndexSearch
    from memolith.adapters.sqlite.connections import Connections
    from memolith.ports.cipher import Cipher

    Integers = NDArray[np.int64]
    Vectors = NDArray[np.int8]

# A zero vector has no direction: its distance is null, and its cosine counts as 0.
_NEAREST = (
    "SELECT item, {vector}, coalesce(vec_distance_cosine({form}({vector}), {form}(?2)), 1.0)"
    " AS distance FROM passages WHERE owner_id = ?1 AND {vector} IS NOT NULL"
    " ORDER BY distance LIMIT ?3"
)
_NEAREST_AMONG = _NEAREST.replace(
    " ORDER BY", " AND item IN (SELECT value FROM carray(?4)) ORDER BY"
)
_PLAIN_FUNCTION, _ENCRYPTED_FUNCTION = "vec_int8", "widened"


class SqliteVecSource(StoredVectorSource):
    """One owner's tables; sqlite-vec finds the nearest in them."""

    distance_tolerance = 1e-4
    """What a distance may be off: a sum of some hundred products in single precision."""

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates:
        """See `StoredVectors`."""
        hidden = self.encrypt_query(query)
        # Hidden components are of 16 bits, which sqlite-vec has no type for.
        form = _PLAIN_FUNCTION if len(hidden) == self.dimension() else _ENCRYPTED_FUNCTION
        values = (self._owner, hidden, limit)
        if items is None:
            nearest = _NEAREST.format(form=form, vector=self._vector)
            rows = self._connection.rows(nearest, values)
        else:
            named = self._connection.bind_integers(items.tolist())
            nearest = _NEAREST_AMONG.format(form=form, vector=self._vector)
            rows = self._connection.rows(nearest, (*values, named))
        beyond = rows[-1][2] if len(rows) == limit else None
        return VectorCandidates([row[0] for row in rows], [row[1] for row in rows], beyond)


class SqliteVecStore(SqliteStore):
    """A `Store` in one SQLite file; sqlite-vec searches its vectors."""

    def __init__(
        self,
        connections: Connections,
        cipher: Cipher,
        index_cache_bytes: int,
        *,
        in_memory: int = 0,
    ) -> None:
        """Take connections to a file that is ready; see `open`.

        Args:
            in_memory: The vectors of owners who have at most so many items are searched in memory.
        """
        import sqlite_vec

        super().__init__(connections, cipher, index_cache_bytes)
        self._library: str = sqlite_vec.loadable_path()
        self._in_memory = in_memory

    def _search(
        self, connection: shared.Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> IndexSearch:
        if owner.next_item <= self._in_memory + 1 or not isinstance(connection, Connection):
            return super()._search(connection, encryption, owner)
        connection.load_extension(self._library, {"widened": _widen})
        tables = SqliteVecSource(
            connection, encryption, owner.number, self._get_generation(owner).column
        )
        return ExternalVectorSearch(self._index(owner, tables), tables)


def _widen(hidden: bytes) -> bytes:
    """Return components of 16 bits as numbers of single precision."""
    return np.frombuffer(hidden, dtype="<i2").astype("<f4").tobytes()
