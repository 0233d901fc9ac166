"""A SQLite store whose vectors Chroma searches.

Chroma returns candidates; the store scores them exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.chroma import outbox
from memolith.adapters.chroma.client import (
    SERVICE,
    Chroma,
    CollectionNotFound,
    ForkSafeLock,
    NearestPoints,
    ProcessLock,
)
from memolith.adapters.chroma.outbox import SentVectors
from memolith.adapters.chroma.outbox_worker import CollectionVerifier, OutboxSender, OutboxWorker
from memolith.adapters.sql import connection as shared
from memolith.adapters.sql.codecs import OwnerEncryption
from memolith.adapters.sql.connection import Connection, OwnerRow, Row
from memolith.adapters.sql.embedding_generations import EmbeddingGeneration
from memolith.adapters.sql.external_vector_search import (
    ExternalVectorSearch,
    StoredVectorSource,
    VectorCandidates,
)
from memolith.adapters.sql.search import IndexSearch
from memolith.adapters.sqlite.connections import Connections
from memolith.adapters.sqlite.opening import open_read_only
from memolith.adapters.sqlite.store import SqliteStore
from memolith.errors import MemolithError, ServiceFailed
from memolith.ports.admin import Finding, StoredText
from memolith.ports.cipher import Cipher
from memolith.ports.store import IndexEntry, Transaction

Integers = NDArray[np.int64]
Vectors = NDArray[np.int8]

T = TypeVar("T")

_log = logging.getLogger(__name__)

_FAILURE_PAUSE_S = 5.0
"""Seconds without requests to Chroma after a failure, so that not every recall waits. A guess."""

_PENDING_ITEMS = (
    "SELECT item FROM vectors_due WHERE owner_id = ?1"
    " UNION SELECT item FROM items WHERE owner_id = ?1 AND item >= ?2"
)
_STORED = (
    "SELECT p.item, p.{vector} FROM carray(?1) AS w CROSS JOIN passages AS p"
    " ON p.owner_id = ?2 AND p.item = w.value WHERE p.{vector} IS NOT NULL"
)


class GuardedChroma:
    """Searches Chroma unless it failed recently. Thread-safe."""

    def __init__(self, chroma: Chroma) -> None:
        self.chroma = chroma
        self._lock = ForkSafeLock()
        self._until_s = 0.0
        self._failure: ServiceFailed | None = None
        self._verified_stamps: dict[str, str] = {}

    def call(self, call: Callable[[Chroma], T]) -> T | None:
        """Return the result of a call, or None if this or a recent call failed."""
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
        """Record that a call failed; log the first of consecutive failures."""
        with self._lock:
            before, self._failure = self._failure, failure
            self._until_s = monotonic() + _FAILURE_PAUSE_S
        if before is None:
            _log.warning("%s; searching vectors in the store instead", failure)

    def _record_success(self) -> None:
        with self._lock:
            before, self._failure = self._failure, None
        if before is not None:
            _log.warning("%s is available again", SERVICE)

    def has_expected_stamp(self, name: str, sent: SentVectors) -> bool:
        """Return whether a collection has the stamp that the store recorded; cached per stamp."""
        expected = {sent.stamp, sent.sending} - {None}
        if self._verified_stamps.get(name) in expected:
            return True
        found = self.call(lambda chroma: chroma.stamp(name))
        if found not in expected:
            return False
        self._verified_stamps[name] = str(found)
        return True


class ChromaTables(StoredVectorSource):
    """One owner's tables, with vector candidates from the owner's collection."""

    distance_tolerance = 1e-4
    """Largest error of a distance: some hundred products summed in single precision."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        chroma: GuardedChroma,
    ) -> None:
        """Use a connection in a transaction, the owner's row, and Chroma."""
        super().__init__(
            connection,
            encryption,
            owner.number,
            EmbeddingGeneration(owner.embedding_generation).column,
        )
        self._chroma = chroma

    def is_up_to_date(self) -> bool:
        """Whether Chroma has all of the owner's vectors that this transaction sees."""
        sent = outbox.read_sent(self._connection, self._owner)
        return (
            sent is not None
            and self._is_current(sent)
            and sent.next_item >= outbox.read_next_item(self._connection, self._owner)
            and not outbox.has_pending(self._connection, self._owner)
        )

    def find_candidates(
        self, query: Vectors, limit: int, items: Integers | None
    ) -> VectorCandidates | None:
        """See `StoredVectorSource`; None if Chroma is unavailable or returned too few."""
        sent = outbox.read_sent(self._connection, self._owner)
        store = outbox.read_store_id(self._connection)
        if items is not None or sent is None or store is None or not self._is_current(sent):
            return None
        name = outbox.collection_name(store, self._owner)
        if not self._chroma.has_expected_stamp(name, sent):
            return None
        hidden = outbox.decode_vectors([self.encrypt_query(query)], self.dimension())[0]
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
        """See `StoredVectorSource`; None if Chroma is unavailable or returned too few vectors."""
        version = outbox.read_key_version(self._connection, self._owner)
        model = f"{outbox.read_model(self._connection).prefix}{version}"
        return sent.model == model and not sent.is_dropping and bool(sent.stamp or sent.sending)

    def _candidates(self, found: NearestPoints, sent: SentVectors) -> list[int]:
        """Return the items of the nearest vectors, plus those whose changes are pending."""
        due = self._connection.rows(_PENDING_ITEMS, (self._owner, sent.next_item))
        return sorted({outbox.parse_item(id_) for id_ in found.ids} | {item for (item,) in due})


def _query_nearest(
    chroma: Chroma, name: str, query: NDArray[np.float32], most: int
) -> NearestPoints | None:
    """Return the nearest vectors; None if a larger collection returned too few."""
    found = chroma.nearest(name, query, most)
    are_ids = all(id_.partition(".")[0].isdecimal() for id_ in found.ids)
    if not are_ids or len(found.ids) != len(found.distances) or len(found.ids) > most:
        raise ServiceFailed(SERVICE, "sent an unreadable response", retryable=True)
    is_short = len(found.ids) < most and chroma.count(name) > len(found.ids)
    return None if is_short else found


# --- Removal of a store's collections


def remove_collections(path: Path, busy_timeout_s: float, chroma: Chroma) -> None:
    """Remove the collections of a store; the SQLite file is not changed.

    Raises:
        ServiceFailed: Chroma is unreachable.
        StoreDamaged: The file is not a Memolith store.
    """
    with closing(open_read_only(path, busy_timeout_s)) as connection:
        store = outbox.read_store_id(connection)
    if store is not None:
        for name in chroma.names(outbox.collection_prefix(store)):
            chroma.drop(name)


# --- Store


_LOCK_SUFFIX = "-vectors"
"""Appended to the store's file name: the lock file of the sending process."""


class ChromaStore(SqliteStore):
    """A `Store` in one SQLite file; Chroma searches its vectors."""

    def __init__(
        self,
        connections: Connections,
        cipher: Cipher,
        index_cache_bytes: int,
        *,
        chroma: Chroma,
        in_memory: int = 0,
    ) -> None:
        """Use connections to a prepared file; see `open`.

        Args:
            connections: Connections to the file.
            cipher: Encrypts the records.
            index_cache_bytes: See `open`.
            chroma: Searches the vectors; closed with the store.
            in_memory: Vectors of owners with at most this many items are searched in memory and not
                sent.
        """
        super().__init__(connections, cipher, index_cache_bytes)
        path = connections.path
        self._in_memory = in_memory
        self._chroma = chroma
        self._guarded_chroma = GuardedChroma(chroma)
        lock = ProcessLock(path.with_name(f"{path.name}{_LOCK_SUFFIX}"))
        self._outbox_sender = OutboxSender(connections, chroma, lock, in_memory)
        self._verifier = CollectionVerifier(connections, chroma, self._outbox_sender, in_memory)
        self._outbox_worker = OutboxWorker(self._outbox_sender.send)
        self._outbox_worker.wake()  # sends what a killed process left

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        """See the port."""
        with super().write(owner_id) as transaction:
            yield transaction
        self._outbox_worker.wake()

    def repair_owner(
        self,
        owner_id: str,
        entries: Mapping[int, IndexEntry],
        expected_texts: Mapping[int, StoredText],
    ) -> None:
        """See `SupportsVerification`."""
        super().repair_owner(owner_id, entries, expected_texts)
        self._outbox_worker.wake()

    def rekey(
        self, owner_id: str, key_version: int, build_entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """See `SupportsRekey`."""
        super().rekey(owner_id, key_version, build_entry)
        self._outbox_worker.wake()

    def erase(self, owner_id: str, at: datetime) -> bool:
        """See the port."""
        was_there = super().erase(owner_id, at)
        self._outbox_worker.wake()
        return was_there

    def compact(self) -> bool:
        """See the port; also sends removals to Chroma."""
        return self._send_removals() & super().compact()

    def _send_removals(self) -> bool:
        try:
            if self._outbox_sender.send(only_changes=True):
                return True
        except MemolithError as error:
            _log.warning("removed vectors are still in Chroma, their removal is pending: %s", error)
        self._outbox_worker.wake()
        return False

    def vectors_pending(self, owner_id: str) -> int:
        """See `SupportsExternalVectors`."""
        with self._connections.read() as connection:
            owner = connection.get_owner(owner_id)
            if owner.next_item <= self._in_memory + 1:
                return 0
            return outbox.count_pending(connection, owner.number)

    def check_file(self) -> list[Finding]:
        """See `SupportsVerification`; also compares Chroma's vectors with the store's."""
        return [*super().check_file(), *self._verifier.find_problems()]

    def repair_file(self) -> None:
        """See `SupportsVerification`; also rebuilds collections that differ."""
        super().repair_file()
        self._verifier.repair()

    def close(self) -> None:
        """See the port; waits some seconds for pending vectors to be sent."""
        self._outbox_worker.close()
        super().close()
        self._chroma.close()

    def _search(
        self, connection: shared.Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> IndexSearch:
        if owner.next_item <= self._in_memory + 1:
            return super()._search(connection, encryption, owner)
        tables = ChromaTables(connection, encryption, owner, self._guarded_chroma)
        if not tables.is_up_to_date():
            self._outbox_worker.wake()
        return ExternalVectorSearch(self._index(owner, tables), tables)

    def _search_at_begin(
        self, connection: shared.Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> IndexSearch:
        """Return a search without Chroma, since the file is locked."""
        if owner.next_item <= self._in_memory + 1:
            return super()._search(connection, encryption, owner)
        tables = StoredVectorSource(
            connection, encryption, owner.number, self._get_generation(owner).column
        )
        return ExternalVectorSearch(self._index(owner, tables), tables)
