"""A store in tables: what SQLite and PostgreSQL have in common."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from time import sleep
from typing import TYPE_CHECKING

from memolith.adapters.sql.cache import IndexCache
from memolith.adapters.sql.checkups import Checkups
from memolith.adapters.sql.erasing import OwnerErasing, refuse_erased
from memolith.adapters.sql.index import OwnerIndex, Stamp, empty_index
from memolith.adapters.sql.indexing import Tables
from memolith.adapters.sql.moving import Moving
from memolith.adapters.sql.owner_row import OwnerRow
from memolith.adapters.sql.reembedding import HELD_S, Embedded
from memolith.adapters.sql.sealing import Sealing
from memolith.adapters.sql.search import Search
from memolith.adapters.sql.snapshot import SqlSnapshot
from memolith.adapters.sql.spaces import Space
from memolith.adapters.sql.values import find_id, micros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from memolith.adapters.sql.connection import Connection, Connections
    from memolith.ports.api_keys import ApiKeys
    from memolith.ports.cipher import Cipher
    from memolith.ports.idempotency import Idempotency
    from memolith.ports.jobs import Jobs
    from memolith.ports.store import (
        IndexEntry,
        Snapshot,
        Transaction,
    )
    from memolith.ports.usage import Usage
    from memolith.ports.work import Claims

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

NAMES = "SELECT name FROM owners"


class SqlStore(OwnerErasing, Checkups, Moving, Embedded):
    """The half of a `Store` that does not depend on which database it is in."""

    _connections: Connections

    def __init__(self, connections: Connections, cipher: Cipher, index_cache_bytes: int) -> None:
        """Take connections to tables that are ready."""
        Embedded.__init__(self)
        self._connections = connections
        self._cipher = cipher
        self._indexes = IndexCache(index_cache_bytes)

    @abstractmethod
    def settle(self) -> bool:
        """See the port."""

    @property
    def jobs(self) -> Jobs:
        """See the port."""
        # Imported here, as those that follow: a recall needs none of them.
        from memolith.adapters.sql.jobs import SqlJobs

        return SqlJobs(self._connections)

    @property
    def claims(self) -> Claims:
        """See the port."""
        from memolith.adapters.sql.claims import SqlClaims

        return SqlClaims(self._connections)

    @property
    def usage(self) -> Usage:
        """See the port."""
        from memolith.adapters.sql.usage import SqlUsage

        return SqlUsage(self._connections)

    @property
    def api_keys(self) -> ApiKeys:
        """See the port."""
        from memolith.adapters.sql.api_keys import SqlApiKeys

        return SqlApiKeys(self._connections)

    @property
    def idempotency(self) -> Idempotency:
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
        with self._connections.reading(owner_id) as connection:
            owner = connection.owner(owner_id)
            sealing, space = self._sealing(owner_id, owner), self._space(owner)

            def search() -> Search:
                space.check(connection)
                return self._search(connection, sealing, owner)

            yield SqlSnapshot(connection, sealing, owner, space, search)

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        """See the port."""
        from memolith.adapters.sql.transaction import SqlTransaction

        with ExitStack() as opened:
            connection, before, owner = self._begun(opened, owner_id)
            sealing = self._sealing(owner_id, owner)

            def search_at_begin() -> Search:
                # While nobody else writes for the owner, every new reader sees the state at the
                # begin; but the vectors in use may be others by now.
                reader = opened.enter_context(self._connections.reading(owner_id))
                seen = replace(before, space=reader.owner(owner_id).space)
                self._space(seen).check(reader)
                return self._search_at_begin(reader, sealing, seen)

            space = self._space(owner)
            transaction = SqlTransaction(connection, sealing, owner, space, search_at_begin)
            yield transaction
            transaction.finish()

    def _begun(self, opened: ExitStack, owner_id: str) -> tuple[Connection, OwnerRow, OwnerRow]:
        """Begin to write, and lock the owner; wait before that for who asks writers to."""
        while True:
            with ExitStack() as begun:
                connection = begun.enter_context(self._connections.writing(owner_id))
                before, owner = self._locked(connection, owner_id)
                if self._may_write(owner.hold):
                    opened.enter_context(begun.pop_all())
                    return connection, before, owner
            sleep(HELD_S)

    def _locked(self, connection: Connection, owner_id: str) -> tuple[OwnerRow, OwnerRow]:
        """Return an owner's row as it was, and, made if need be, as it is; it is locked."""
        owner = connection.owner(owner_id, lock=True)
        if owner.number:
            return owner, owner
        refuse_erased(connection, self._cipher, owner_id)
        made = connection.new_owner(owner_id, self._cipher.version(owner_id))
        refuse_erased(connection, self._cipher, owner_id)  # who was faster may have erased them
        return (made if made.counter else owner), made

    def key_version(self, owner_id: str) -> int:
        """See `Resealing`."""
        with self._connections.reading(owner_id) as connection:
            return connection.owner(owner_id).key_version

    def reseal(
        self, owner_id: str, version: int, entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """See `Resealing`."""
        from memolith.adapters.sql.resealing import Resealer

        with self._connections.writing(owner_id) as connection:
            owner = connection.owner(owner_id, lock=True)
            if not owner.number or owner.key_version >= version:
                return
            later = replace(owner, key_version=version)
            sealings = self._sealing(owner_id, owner), self._sealing(owner_id, later)
            Resealer(connection, owner.number, sealings).turn(entry)
            connection.run("DELETE FROM idempotency WHERE scope = ?", (owner_id,))
            connection.run(
                "UPDATE owners SET key_version = ? WHERE owner_id = ?", (version, owner.number)
            )
            connection.run("COMMIT")
        self.settle()

    def _space(self, owner: OwnerRow) -> Space:
        """Return which vectors are in use; of an owner who has none, those expected."""
        if not owner.number and self._expected is not None:
            return Space(self._expected.space, self._expected)
        return Space(owner.space, self._expected)

    def _sealing(self, owner_id: str, owner: OwnerRow) -> Sealing:
        return Sealing(self._cipher.of(owner_id, owner.key_version), owner_id)

    def _search(self, connection: Connection, sealing: Sealing, owner: OwnerRow) -> Search:
        tables = Tables(connection, sealing, owner.number, self._space(owner).column)
        return Search(self._index(owner, tables), tables)

    def _search_at_begin(self, connection: Connection, sealing: Sealing, owner: OwnerRow) -> Search:
        """Return a search within a transaction that writes: it asks nobody outside the store."""
        return self._search(connection, sealing, owner)

    def _index(self, owner: OwnerRow, tables: Tables) -> OwnerIndex:
        if not owner.number:
            return empty_index(0)
        stamp = Stamp(owner.generation, owner.revision, owner.counter, owner.next_item)
        return self._indexes.get(owner.number, stamp, tables)

    def touch(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """See the port."""
        found = ((find_id(id_), *access) for id_, access in accessed.items())
        rows = [(count, micros(at), id_) for id_, count, at in found if id_]
        if not rows:
            return
        with self._connections.writing(owner_id) as connection:
            owner = connection.owner(owner_id, lock=True)
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
        with self._connections.reading() as connection:
            return sorted(name for (name,) in connection.rows(NAMES))
