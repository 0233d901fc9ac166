"""A store in one SQLite file whose vectors Chroma searches.

The file is the truth: it has all vectors too. Chroma gets them after they were committed.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memolith.adapters.chroma import ledger
from memolith.adapters.chroma.locking import ProcessLock
from memolith.adapters.chroma.search import ChromaTables, GuardedChroma
from memolith.adapters.chroma.sender import OutboxWorker
from memolith.adapters.chroma.sending import OutboxSender
from memolith.adapters.chroma.verifying import CollectionVerifier
from memolith.adapters.sql.nearby import ExternalVectorSearch, StoredVectorSource
from memolith.adapters.sqlite.store import SqliteStore
from memolith.errors import MemolithError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from memolith.adapters.chroma.collections import Chroma
    from memolith.adapters.sql import connection as shared
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.adapters.sql.search import IndexSearch
    from memolith.adapters.sqlite.connections import Connections
    from memolith.ports.cipher import Cipher
    from memolith.ports.store import IndexEntry, Transaction
    from memolith.ports.verifying import Finding, StoredText

_log = logging.getLogger(__name__)

_LOCK_SUFFIX = "-vectors"
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
        self._guarded_chroma = GuardedChroma(chroma)
        lock = ProcessLock(path.with_name(f"{path.name}{_LOCK_SUFFIX}"))
        self._outbox_sender = OutboxSender(connections, chroma, lock, in_memory)
        self._verifier = CollectionVerifier(connections, chroma, self._outbox_sender, in_memory)
        self._outbox_worker = OutboxWorker(self._outbox_sender.send)
        self._outbox_worker.wake()  # for what a process that was killed has left

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
        """See `Verifiable`."""
        super().repair_owner(owner_id, entries, expected_texts)
        self._outbox_worker.wake()

    def rekey(
        self, owner_id: str, key_version: int, build_entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """See `Resealing`."""
        super().rekey(owner_id, key_version, build_entry)
        self._outbox_worker.wake()

    def erase(self, owner_id: str, at: datetime) -> bool:
        """See the port."""
        was_there = super().erase(owner_id, at)
        self._outbox_worker.wake()
        return was_there

    def compact(self) -> bool:
        """See the port: Chroma lets go of what was removed, too."""
        return self._send_removals() & super().compact()

    def _send_removals(self) -> bool:
        try:
            if self._outbox_sender.send(only_changes=True):
                return True
        except MemolithError as error:
            _log.warning("what was removed is still in Chroma, and is due to be: %s", error)
        self._outbox_worker.wake()
        return False

    def vectors_pending(self, owner_id: str) -> int:
        """See `Mirrored`."""
        with self._connections.read() as connection:
            owner = connection.get_owner(owner_id)
            if owner.next_item <= self._in_memory + 1:
                return 0
            return ledger.count_pending(connection, owner.number)

    def check_file(self) -> list[Finding]:
        """See `Verifiable`: Chroma has what the store has."""
        return [*super().check_file(), *self._verifier.find_problems()]

    def repair_file(self) -> None:
        """See `Verifiable`: collections that differ are made anew."""
        super().repair_file()
        self._verifier.repair()

    def close(self) -> None:
        """See the port: what is due is waited for, some seconds."""
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
        """Return a search that asks nobody: the file is locked."""
        if owner.next_item <= self._in_memory + 1:
            return super()._search(connection, encryption, owner)
        tables = StoredVectorSource(
            connection, encryption, owner.number, self._get_generation(owner).column
        )
        return ExternalVectorSearch(self._index(owner, tables), tables)
