"""Searching an owner's vectors by Chroma: it names candidates, which are compared exactly here."""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memolith.adapters.chroma import ledger
from memolith.adapters.chroma.collections import SERVICE, Found, NoCollection
from memolith.adapters.chroma.locking import ThreadLock
from memolith.adapters.sql.nearby import Near, StoredVectors
from memolith.adapters.sql.spaces import Space
from memolith.errors import ServiceFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from memolith.adapters.chroma.collections import Chroma
    from memolith.adapters.chroma.ledger import Sent
    from memolith.adapters.sql.connection import Connection, Row
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import Sealing

    Integers = NDArray[np.int64]
    Vectors = NDArray[np.int8]

T = TypeVar("T")

_log = logging.getLogger(__name__)

_REST_S = 5.0
"""For how long Chroma is not asked after a failure: not every recall is to wait (a guess)."""

_DUE = (
    "SELECT item FROM vectors_due WHERE owner_id = ?1"
    " UNION SELECT item FROM items WHERE owner_id = ?1 AND item >= ?2"
)
_STORED = (
    "SELECT p.item, p.{vector} FROM carray(?1) AS w CROSS JOIN passages AS p"
    " ON p.owner_id = ?2 AND p.item = w.value WHERE p.{vector} IS NOT NULL"
)


class Asking:
    """Asks Chroma for a search, unless it has just failed. Thread-safe."""

    def __init__(self, chroma: Chroma) -> None:
        """Take whom to ask."""
        self.chroma = chroma
        self._lock = ThreadLock()
        self._until_s = 0.0
        self._failure: ServiceFailed | None = None
        self._known: dict[str, str] = {}

    def ask(self, call: Callable[[Chroma], T]) -> T | None:
        """Return what a call returns; None where it failed, or did so just before."""
        with self._lock:
            if self._failure is not None and monotonic() < self._until_s:
                return None
        try:
            answer = call(self.chroma)
        except NoCollection:
            return None
        except ServiceFailed as failure:
            self.failed(failure)
            return None
        self._worked()
        return answer

    def failed(self, failure: ServiceFailed) -> None:
        """Keep that a call failed, and log it where the one before did not."""
        with self._lock:
            before, self._failure = self._failure, failure
            self._until_s = monotonic() + _REST_S
        if before is None:
            _log.warning("%s: what is nearest is searched in the store itself", failure)

    def _worked(self) -> None:
        with self._lock:
            before, self._failure = self._failure, None
        if before is not None:
            _log.warning("%s answers again", SERVICE)

    def stamp(self, name: str, sent: Sent) -> bool:
        """Return whether a collection is in the state that the store says; asked once a state."""
        expected = {sent.stamp, sent.sending} - {None}
        if self._known.get(name) in expected:
            return True
        found = self.ask(lambda chroma: chroma.stamp(name))
        if found not in expected:
            return False
        self._known[name] = str(found)
        return True


class ChromaTables(StoredVectors):
    """One owner's tables, and the collection that names what is nearest in them."""

    slack = 1e-4
    """What a distance may be off: a sum of some hundred products in single precision."""

    def __init__(
        self, connection: Connection, sealing: Sealing, owner: OwnerRow, asking: Asking
    ) -> None:
        """Take a connection within a transaction, the owner's row, and whom to ask."""
        super().__init__(connection, sealing, owner.number, Space(owner.space).column)
        self._asking = asking

    def is_sent(self) -> bool:
        """Whether Chroma has all of the owner's vectors, as this transaction sees them."""
        sent = ledger.sent(self._connection, self._owner)
        return (
            sent is not None
            and self._is_current(sent)
            and sent.next_item >= ledger.next_item(self._connection, self._owner)
            and not ledger.is_due(self._connection, self._owner)
        )

    def near(self, query: Vectors, most: int, items: Integers | None) -> Near | None:
        """See `StoredVectors`: None where Chroma can't tell, or the named are few."""
        sent = ledger.sent(self._connection, self._owner)
        store = ledger.store_id(self._connection)
        if items is not None or sent is None or store is None or not self._is_current(sent):
            return None
        name = ledger.name_of(store, self._owner)
        if not self._asking.stamp(name, sent):
            return None
        hidden = ledger.vectors_of([self.hidden(query)], self.dimension())[0]
        found = self._asking.ask(lambda chroma: _asked(chroma, name, hidden, most))
        if found is None:
            return None
        candidates = self._candidates(found, sent)
        rows = self._stored(candidates) if candidates else []
        beyond = float(found.distances[-1]) if len(found.ids) == most else None
        return Near([row[0] for row in rows], [row[1] for row in rows], beyond)

    def _stored(self, items: list[int]) -> list[Row]:
        named = self._connection.many_numbers(items)
        return self._connection.rows(_STORED.format(vector=self._vector), (named, self._owner))

    def _is_current(self, sent: Sent) -> bool:
        """Whether what was sent is of the model and the key that the vectors are of now."""
        version = ledger.key_version(self._connection, self._owner)
        model = f"{ledger.model_of(self._connection).prefix}{version}"
        return sent.model == model and not sent.is_dropping and bool(sent.stamp or sent.sending)

    def _candidates(self, found: Found, sent: Sent) -> list[int]:
        """Return the items that were found, and those that Chroma does not have as they are."""
        due = self._connection.rows(_DUE, (self._owner, sent.next_item))
        return sorted({ledger.item_of(id_) for id_ in found.ids} | {item for (item,) in due})


def _asked(chroma: Chroma, name: str, query: NDArray[np.float32], most: int) -> Found | None:
    """Return the nearest; None where a collection that has more gives too few."""
    found = chroma.nearest(name, query, most)
    are_ids = all(id_.partition(".")[0].isdecimal() for id_ in found.ids)
    if not are_ids or len(found.ids) != len(found.distances) or len(found.ids) > most:
        raise ServiceFailed(SERVICE, "gave an answer that can't be read", retryable=True)
    is_short = len(found.ids) < most and chroma.count(name) > len(found.ids)
    return None if is_short else found
