"""A store in tables: what SQLite and PostgreSQL have in common."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import sleep
from typing import TYPE_CHECKING

from memolith.adapters.sql.cache import IndexCache
from memolith.adapters.sql.checkups import VerificationMixin
from memolith.adapters.sql.erasing import OwnerErasureMixin, refuse_erased
from memolith.adapters.sql.index import IndexVersion, OwnerIndex, empty_index
from memolith.adapters.sql.indexing import TableIndexSource
from memolith.adapters.sql.moving import MigrationMixin
from memolith.adapters.sql.owner_row import OwnerRow
from memolith.adapters.sql.reembedding import PAUSE_POLL_S, ReembeddingMixin
from memolith.adapters.sql.sealing import OwnerEncryption
from memolith.adapters.sql.search import IndexSearch
from memolith.adapters.sql.snapshot import SqlSnapshot
from memolith.adapters.sql.spaces import EmbeddingGeneration
from memolith.adapters.sql.values import micros, pack_id_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Connection, Connections
    from memolith.ports.api_keys import ApiKeys
    from memolith.ports.cipher import Cipher
    from memolith.ports.idempotency import IdempotencyStore
    from memolith.ports.jobs import JobStore
    from memolith.ports.store import (
        IndexEntry,
        Snapshot,
        Transaction,
    )
    from memolith.ports.usage import UsageCounter
    from memolith.ports.work import WorkLeases

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

OWNER_NAMES = "SELECT name FROM owners"


class SqlStore(OwnerErasureMixin, VerificationMixin, MigrationMixin, ReembeddingMixin):
    """The half of a `Store` that does not depend on which database it is in."""

    _connections: Connections

    def __init__(self, connections: Connections, cipher: Cipher, index_cache_bytes: int) -> None:
        """Take connections to tables that are ready."""
        ReembeddingMixin.__init__(self)
        self._connections = connections
        self._cipher = cipher
        self._indexes = IndexCache(index_cache_bytes)

    @abstractmethod
    def compact(self) -> bool:
        """See the port."""

    @property
    def jobs(self) -> JobStore:
        """See the port."""
        # Imported here, as those that follow: a recall needs none of them.
        from memolith.adapters.sql.jobs import SqlJobs

        return SqlJobs(self._connections)

    @property
    def leases(self) -> WorkLeases:
        """See the port."""
        from memolith.adapters.sql.claims import SqlWorkLeases

        return SqlWorkLeases(self._connections)

    @property
    def usage(self) -> UsageCounter:
        """See the port."""
        from memolith.adapters.sql.usage import SqlUsageCounter

        return SqlUsageCounter(self._connections)

    @property
    def api_keys(self) -> ApiKeys:
        """See the port."""
        from memolith.adapters.sql.api_keys import SqlApiKeys

        return SqlApiKeys(self._connections)

    @property
    def idempotency(self) -> IdempotencyStore:
        """See the port."""
        from memolith.adapters.sql.idempotency import SqlIdempotency

        return SqlIdempotency(self._connections, self._cipher)

    @property
    def cipher(self) -> Cipher:
        """What the store is sealed with."""
        return self._cipher

    @contextmanager
    def read(self, owner_id: str) -> Iterator[Snapshot]:
        """See the port."""
        with self._connections.read(owner_id) as connection:
            owner = connection.get_owner(owner_id)
            sealing, space = self._encryption(owner_id, owner), self._get_generation(owner)

            def search() -> IndexSearch:
                space.refuse_if_switched(connection)
                return self._search(connection, sealing, owner)

            yield SqlSnapshot(connection, sealing, owner, space, search)

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        """See the port."""
        from memolith.adapters.sql.transaction import SqlTransaction

        with ExitStack() as opened:
            connection, before, owner = self._begin_write(opened, owner_id)
            sealing = self._encryption(owner_id, owner)

            def search_at_begin() -> IndexSearch:
                # While nobody else writes for the owner, every new reader sees the state at the
                # begin; but the vectors in use may be others by now.
                reader = opened.enter_context(self._connections.read(owner_id))
                seen = replace(
                    before, embedding_generation=reader.get_owner(owner_id).embedding_generation
                )
                self._get_generation(seen).refuse_if_switched(reader)
                return self._search_at_begin(reader, sealing, seen)

            space = self._get_generation(owner)
            transaction = SqlTransaction(connection, sealing, owner, space, search_at_begin)
            yield transaction
            transaction.finish()

    def _begin_write(
        self, resources: ExitStack, owner_id: str
    ) -> tuple[Connection, OwnerRow, OwnerRow]:
        """Begin to write, and lock the owner; wait before that for who asks writers to."""
        while True:
            with ExitStack() as begun:
                connection = begun.enter_context(self._connections.write(owner_id))
                before, owner = self._lock_owner_row(connection, owner_id)
                if self._can_write(owner.write_pause):
                    resources.enter_context(begun.pop_all())
                    return connection, before, owner
            sleep(PAUSE_POLL_S)

    def _lock_owner_row(self, connection: Connection, owner_id: str) -> tuple[OwnerRow, OwnerRow]:
        """Return an owner's row as it was, and, made if need be, as it is; it is locked."""
        owner = connection.get_owner(owner_id, lock=True)
        if owner.number:
            return owner, owner
        refuse_erased(connection, self._cipher, owner_id)
        made = connection.insert_owner(owner_id, self._cipher.ensure_key_version(owner_id))
        refuse_erased(connection, self._cipher, owner_id)  # who was faster may have erased them
        return (made if made.counter else owner), made

    def key_version(self, owner_id: str) -> int:
        """See `Resealing`."""
        with self._connections.read(owner_id) as connection:
            return connection.get_owner(owner_id).key_version

    def rekey(
        self, owner_id: str, key_version: int, build_entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """See `Resealing`."""
        from memolith.adapters.sql.resealing import Rekeyer

        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            if not owner.number or owner.key_version >= key_version:
                return
            later = replace(owner, key_version=key_version)
            sealings = self._encryption(owner_id, owner), self._encryption(owner_id, later)
            Rekeyer(connection, owner.number, sealings).run(build_entry)
            connection.run("DELETE FROM idempotency WHERE scope = ?", (owner_id,))
            connection.run(
                "UPDATE owners SET key_version = ? WHERE owner_id = ?", (key_version, owner.number)
            )
            connection.run("COMMIT")
        self.compact()

    def _get_generation(self, owner: OwnerRow) -> EmbeddingGeneration:
        """Return which vectors are in use; of an owner who has none, those expected."""
        if not owner.number and self._expected is not None:
            return EmbeddingGeneration(self._expected.generation, self._expected)
        return EmbeddingGeneration(owner.embedding_generation, self._expected)

    def _encryption(self, owner_id: str, owner: OwnerRow) -> OwnerEncryption:
        return OwnerEncryption(self._cipher.get_owner_cipher(owner_id, owner.key_version), owner_id)

    def _search(
        self, connection: Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> IndexSearch:
        tables = TableIndexSource(
            connection, encryption, owner.number, self._get_generation(owner).column
        )
        return IndexSearch(self._index(owner, tables), tables)

    def _search_at_begin(
        self, connection: Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> IndexSearch:
        """Return a search within a transaction that writes: it asks nobody outside the store."""
        return self._search(connection, encryption, owner)

    def _index(self, owner: OwnerRow, tables: TableIndexSource) -> OwnerIndex:
        if not owner.number:
            return empty_index(0)
        stamp = IndexVersion(owner.generation, owner.revision, owner.counter, owner.next_item)
        return self._indexes.get(owner.number, stamp, tables)

    def record_access(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """See the port."""
        found = ((pack_id_or_none(id_), *access) for id_, access in accessed.items())
        rows = [(count, micros(at), id_) for id_, count, at in found if id_]
        if not rows:
            return
        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            connection.run_many(
                "UPDATE memories SET access_count = access_count + ?1,"
                " accessed_at = max(coalesce(accessed_at, ?2), ?2), changed = ?3"
                " WHERE owner_id = ?4 AND id = ?5",
                [(count, at, owner.revision + 1, owner.number, id_) for count, at, id_ in rows],
            )
            connection.run(
                "UPDATE owners SET revision = revision + 1 WHERE owner_id = ?", (owner.number,)
            )
            connection.run("COMMIT")

    def owners(self) -> list[str]:
        """See the port."""
        with self._connections.read() as connection:
            return sorted(name for (name,) in connection.rows(OWNER_NAMES))
