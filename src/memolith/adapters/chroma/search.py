"""Searching an owner's vectors by Chroma: it names candidates, which are compared exactly here."""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memolith.adapters.chroma import ledger
from memolith.adapters.chroma.collections import SERVICE, CollectionNotFound, NearestPoints
from memolith.adapters.chroma.locking import ForkSafeLock
from memolith.adapters.sql.nearby import StoredVectorSource, VectorCandidates
from memolith.adapters.sql.spaces import EmbeddingGeneration
from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from memolith.adapters.chroma.collections import Chroma
    from memolith.adapters.chroma.ledger import SentVectors
    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import OwnerEncryption

    Integers = NDArray[np.int64]
    Vectors = NDArray[np.int8]

T = TypeVar("T")

_log = logging.getLogger(__name__)

_FAILURE_PAUSE_S = 5.0
"""For how long Chroma is not asked after a failure: not every recall is to wait (a guess)."""

_PENDING_ITEMS = (
    "SELECT item FROM vectors_due WHERE owner_id = ?1"
    " UNION SELECT item FROM items WHERE owner_id = ?1 AND item >= ?2"
)
_STORED = (
    "SELECT p.item, p.{vector} FROM carray(?1) AS w CROSS JOIN passages AS p"
    " ON p.owner_id = ?2 AND p.item = w.value WHERE p.{vector} IS NOT NULL"
)


class GuardedChroma:
    """Asks Chroma for a search, unless it has just failed. Thread-safe."""

    def __init__(self, chroma: Chroma) -> None:
        """Take whom to ask."""
        self.chroma = chroma
        self._lock = ForkSafeLock()
        self._until_s = 0.0
        self._failure: ServiceFailed | None = None
        self._verified_stamps: dict[str, str] = {}

    def call(self, call: Callable[[Chroma], T]) -> T | None:
        """Return what a call returns; None where it failed, or did so just before."""
        with self._lock:
            if self._failure is not None and monotonic() < self._until_s:
                return None
        try:
            answer = call(self.chroma)
        except CollectionNotFound:
            return None
        except ServiceFailed as failure:
            self.record_failure(failure)
            return None
        self._record_success()
        return answer

    def record_failure(self, failure: ServiceFailed) -> None:
        """Keep that a call failed, and log it where the one before did not."""
        with self._lock:
            before, self._failure = self._failure, failure
            self._until_s = monotonic() + _FAILURE_PAUSE_S
        if before is None:
            _log.warning("%s: what is nearest is searched in the store itself", failure)

    def _record_success(self) -> None:
        with self._lock:
            before, self._failure = self._failure, None
        if before is not None:
            _log.warning("%s answers again", SERVICE)

    def has_expected_stamp(self, name: str, sent: SentVectors) -> bool:
        """Return whether a collection is in the state that the store says; asked once a state."""
        expected = {sent.stamp, sent.sending} - {None}
        if self._verified_stamps.get(name) in expected:
            return True
        found = self.call(lambda chroma: chroma.stamp(name))
        if found not in expected:
            return False
        self._verified_stamps[name] = str(found)
        return True


class ChromaTables(StoredVectorSource):
    """One owner's tables, and the collection that names what is nearest in them."""

    distance_tolerance = 1e-4
    """What a distance may be off: a sum of some hundred products in single precision."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        chroma: GuardedChroma,
    ) -> None:
        """Take a connection within a transaction, the owner's row, and whom to ask."""
        super().__init__(
            connection,
            encryption,
            owner.number,
            EmbeddingGeneration(owner.embedding_generation).column,
        )
        self._chroma = chroma

    def is_up_to_date(self) -> bool:
        """Whether Chroma has all of the owner's vectors, as this transaction sees them."""
        sent = ledger.read_sent(self._connection, self._owner)
        return (
            sent is not None
            and self._is_current(sent)
            and sent.next_item >= ledger.read_next_item(self._connection, self._owner)
            and not ledger.has_pending(self._connection, self._owner)
        )

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates | None:
        """See `StoredVectors`: None where Chroma can't tell, or the named are few."""
        sent = ledger.read_sent(self._connection, self._owner)
        store = ledger.read_store_id(self._connection)
        if items is not None or sent is None or store is None or not self._is_current(sent):
            return None
        name = ledger.collection_name(store, self._owner)
        if not self._chroma.has_expected_stamp(name, sent):
            return None
        hidden = ledger.decode_vectors([self.encrypt_query(query)], self.dimension())[0]
        found = self._chroma.call(lambda chroma: _query_nearest(chroma, name, hidden, limit))
        if found is None:
            return None
        candidates = self._candidates(found, sent)
        rows = self._read_vectors(candidates) if candidates else []
        beyond = float(found.distances[-1]) if len(found.ids) == limit else None
        return VectorCandidates([row[0] for row in rows], [row[1] for row in rows], beyond)

    def _read_vectors(self, items: list[int]) -> list[Row]:
        named = self._connection.bind_integers(items)
        return self._connection.rows(_STORED.format(vector=self._vector), (named, self._owner))

    def _is_current(self, sent: SentVectors) -> bool:
        """Whether what was sent is of the model and the key that the vectors are of now."""
        version = ledger.read_key_version(self._connection, self._owner)
        model = f"{ledger.read_model(self._connection).prefix}{version}"
        return sent.model == model and not sent.is_dropping and bool(sent.stamp or sent.sending)

    def _candidates(self, found: NearestPoints, sent: SentVectors) -> list[int]:
        """Return the items that were found, and those that Chroma does not have as they are."""
        due = self._connection.rows(_PENDING_ITEMS, (self._owner, sent.next_item))
        return sorted({ledger.parse_item(id_) for id_ in found.ids} | {item for (item,) in due})


def _query_nearest(
    chroma: Chroma, name: str, query: NDArray[np.float32], most: int
) -> NearestPoints | None:
    """Return the nearest; None where a collection that has more gives too few."""
    found = chroma.nearest(name, query, most)
    are_ids = all(id_.partition(".")[0].isdecimal() for id_ in found.ids)
    if not are_ids or len(found.ids) != len(found.distances) or len(found.ids) > most:
        raise ServiceFailed(SERVICE, "gave an answer that can't be read", retryable=True)
    is_short = len(found.ids) < most and chroma.count(name) > len(found.ids)
    return None if is_short else found
