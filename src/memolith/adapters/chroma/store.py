"""A store in one SQLite file whose vectors Chroma searches.

The file is the truth: it has all vectors too. Chroma gets them after they were committed.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memolith.adapters.chroma import ledger
from memolith.adapters.chroma.locking import ProcessLock
from memolith.adapters.chroma.search import Asking, ChromaTables
from memolith.adapters.chroma.sender import Sender
from memolith.adapters.chroma.sending import Sending
from memolith.adapters.chroma.verifying import Comparing
from memolith.adapters.sql.nearby import NearbySearch, StoredVectors
from memolith.adapters.sqlite.store import SqliteStore
from memolith.errors import MemolithError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from memolith.adapters.chroma.collections import Chroma
    from memolith.adapters.sql import connection as shared
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import Sealing
    from memolith.adapters.sql.search import Search
    from memolith.adapters.sqlite.connections import Connections
    from memolith.ports.cipher import Cipher
    from memolith.ports.store import IndexEntry, Transaction
    from memolith.ports.verifying import Finding, StoredText

_log = logging.getLogger(__name__)

_LOCK = "-vectors"
"""What follows the store's name in the name of the file that who sends has locked."""


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
        """Take connections to a file that is ready; see `open`.

        Args:
            connections: To the file.
            cipher: What it is sealed with.
            index_cache_bytes: See `open`.
            chroma: What searches; closed with the store.
            in_memory: The vectors of owners who have at most so many items are searched in
                memory, and not sent.
        """
        super().__init__(connections, cipher, index_cache_bytes)
        path = connections.path
        self._in_memory = in_memory
        self._chroma = chroma
        self._asking = Asking(chroma)
        lock = ProcessLock(path.with_name(f"{path.name}{_LOCK}"))
        self._sending = Sending(connections, chroma, lock, in_memory)
        self._comparing = Comparing(connections, chroma, self._sending, in_memory)
        self._sender = Sender(self._sending.send)
        self._sender.wake()  # for what a process that was killed has left

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        """See the port."""
        with super().write(owner_id) as transaction:
            yield transaction
        self._sender.wake()

    def mend(
        self, owner_id: str, entries: Mapping[int, IndexEntry], seen: Mapping[int, StoredText]
    ) -> None:
        """See `Verifiable`."""
        super().mend(owner_id, entries, seen)
        self._sender.wake()

    def reseal(
        self, owner_id: str, version: int, entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """See `Resealing`."""
        super().reseal(owner_id, version, entry)
        self._sender.wake()

    def erase(self, owner_id: str, at: datetime) -> bool:
        """See the port."""
        was_there = super().erase(owner_id, at)
        self._sender.wake()
        return was_there

    def settle(self) -> bool:
        """See the port: Chroma lets go of what was removed, too."""
        return self._is_removed() & super().settle()

    def _is_removed(self) -> bool:
        try:
            if self._sending.send(only_changes=True):
                return True
        except MemolithError as error:
            _log.warning("what was removed is still in Chroma, and is due to be: %s", error)
        self._sender.wake()
        return False

    def vectors_due(self, owner_id: str) -> int:
        """See `Mirrored`."""
        with self._connections.reading() as connection:
            owner = connection.owner(owner_id)
            if owner.next_item <= self._in_memory + 1:
                return 0
            return ledger.count_due(connection, owner.number)

    def check_file(self) -> list[Finding]:
        """See `Verifiable`: Chroma has what the store has."""
        return [*super().check_file(), *self._comparing.found()]

    def repair_file(self) -> None:
        """See `Verifiable`: collections that differ are made anew."""
        super().repair_file()
        self._comparing.repair()

    def close(self) -> None:
        """See the port: what is due is waited for, some seconds."""
        self._sender.close()
        super().close()
        self._chroma.close()

    def _search(self, connection: shared.Connection, sealing: Sealing, owner: OwnerRow) -> Search:
        if owner.next_item <= self._in_memory + 1:
            return super()._search(connection, sealing, owner)
        tables = ChromaTables(connection, sealing, owner, self._asking)
        if not tables.is_sent():
            self._sender.wake()
        return NearbySearch(self._index(owner, tables), tables)

    def _search_at_begin(
        self, connection: shared.Connection, sealing: Sealing, owner: OwnerRow
    ) -> Search:
        """Return a search that asks nobody: the file is locked."""
        if owner.next_item <= self._in_memory + 1:
            return super()._search(connection, sealing, owner)
        tables = StoredVectors(connection, sealing, owner.number, self._space(owner).column)
        return NearbySearch(self._index(owner, tables), tables)
