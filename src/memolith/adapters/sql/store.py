"""Base class of the SQL stores: the parts that SQLite and PostgreSQL share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from time import sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memolith.adapters.sql.codecs import OwnerEncryption, micros, pack_id_or_none
from memolith.adapters.sql.connection import Connection, Connections, ConstraintViolation, OwnerRow
from memolith.adapters.sql.embedding_generations import (
    PAUSE_POLL_S,
    EmbeddingGeneration,
    ExpectedGeneration,
    ReembeddingMixin,
)
from memolith.adapters.sql.erasure import OwnerErasureMixin, erase_rows, refuse_erased
from memolith.adapters.sql.index import IndexCache, IndexVersion, OwnerIndex, empty_index
from memolith.adapters.sql.index_rows import TableIndexSource
from memolith.adapters.sql.rekey import Rekeyer
from memolith.adapters.sql.repair import repair_owner
from memolith.adapters.sql.search import IndexSearch
from memolith.adapters.sql.service_tables import (
    SqlApiKeys,
    SqlIdempotency,
    SqlJobs,
    SqlUsageCounter,
    SqlWorkLeases,
)
from memolith.adapters.sql.snapshot import SqlSnapshot
from memolith.adapters.sql.tables import (
    compute_checksums,
    read_rows,
    replace_owner_rows,
    replace_shared_rows,
)
from memolith.adapters.sql.transaction import SqlTransaction
from memolith.adapters.sql.verification import IntegrityChecker
from memolith.errors import StoreDamaged
from memolith.ports.admin import (
    Batches,
    Migration,
    OwnerFingerprint,
    OwnerVerification,
    StoredText,
    TableChecksum,
)
from memolith.ports.cipher import Cipher
from memolith.ports.service import ApiKeys, IdempotencyStore, UsageCounter
from memolith.ports.store import IndexEntry, Snapshot, StoreMeta, Transaction
from memolith.ports.work import JobStore, WorkLeases

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class VerificationMixin:
    """The part of a store that verifies and repairs one owner."""

    _connections: Connections
    _cipher: Cipher
    _expected: ExpectedGeneration | None

    @contextmanager
    def verify_owner(self, owner_id: str) -> Iterator[OwnerVerification]:
        """See `SupportsVerification.verify_owner`."""
        with self._connections.read(owner_id) as connection:
            owner = connection.get_owner(owner_id)
            encryption = OwnerEncryption(
                self._cipher.get_owner_cipher(owner_id, owner.key_version), owner_id
            )
            yield IntegrityChecker(connection, encryption, owner)

    def repair_owner(
        self,
        owner_id: str,
        entries: Mapping[int, IndexEntry],
        expected_texts: Mapping[int, StoredText],
    ) -> None:
        """See `SupportsVerification.repair_owner`."""
        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            encryption = OwnerEncryption(
                self._cipher.get_owner_cipher(owner_id, owner.key_version), owner_id
            )
            try:
                repair_owner(connection, encryption, owner, self._expected, entries, expected_texts)
            except ConstraintViolation as error:
                raise StoreDamaged("two rows have the same key: neither is repaired") from error
            connection.run("COMMIT")


# --- Migration


_MIGRATION_FACT = "migration"
_SET_FACT = (
    "INSERT INTO meta (name, value) VALUES (?, ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Facts = dict[str, str | int | bytes | None]


class MigrationMixin:
    """The part of a store that exports and imports rows."""

    _connections: Connections

    @property
    @abstractmethod
    def location(self) -> str:
        """See `SupportsMigration.location`."""

    @abstractmethod
    def _encode_fact(self, value: str | int | bytes) -> Any:
        """Return a value in the format of the `meta` table."""

    @property
    def migration(self) -> Migration | None:
        """See `SupportsMigration.migration`."""
        with self._connections.read() as connection:
            row = connection.row("SELECT value FROM meta WHERE name = ?", (_MIGRATION_FACT,))
        if row is None:
            return None
        # Imported here: called whenever a store is opened, but few were migrated.
        import msgspec

        return msgspec.json.decode(row[0], type=Migration)

    def fingerprint(self, owner_id: str) -> OwnerFingerprint | None:
        """See `SupportsMigration.fingerprint`."""
        with self._connections.read(owner_id) as connection:
            owner = connection.get_owner(owner_id)
        if not owner.number:
            return None
        return OwnerFingerprint(owner.counter, owner.revision, owner.generation, owner.key_version)

    @contextmanager
    def read_rows(self, owner_id: str | None) -> Iterator[Batches]:
        """See `SupportsMigration.read_rows`."""
        with self._connections.read(owner_id) as connection:
            number = None if owner_id is None else connection.get_owner(owner_id).number
            yield () if number == 0 else read_rows(connection, number)

    def write_rows(self, owner_id: str | None, batches: Batches) -> None:
        """See `SupportsMigration.write_rows`."""
        with self._connections.write(owner_id) as connection:
            if owner_id is None:
                replace_shared_rows(connection, batches)
            else:
                replace_owner_rows(connection, owner_id, batches)
            connection.run("COMMIT")

    def remove_owner(self, owner_id: str) -> None:
        """See `SupportsMigration.remove_owner`."""
        with self._connections.write(owner_id) as connection:
            erase_rows(connection, owner_id)
            connection.run("COMMIT")

    def checksums(self, owner_id: str | None) -> Mapping[str, TableChecksum]:
        """See `SupportsMigration.checksums`."""
        with self.read_rows(owner_id) as batches:
            return compute_checksums(batches)

    def adopt_meta(self, meta: StoreMeta) -> None:
        """See `SupportsMigration.adopt_meta`."""
        self._save_facts(
            {
                "embedder": meta.embedder,
                "dimension": meta.dimension,
                "analyser": meta.analyser,
                "digests": meta.digest_name,
                "space": meta.embedding_generation,
            }
        )

    def begin_migration(self, migration: Migration, cipher: Cipher | None) -> None:
        """See `SupportsMigration.begin_migration`."""
        import msgspec

        facts: Facts = {_MIGRATION_FACT: msgspec.json.encode(migration).decode()}
        if cipher is not None and cipher.store_id:
            facts |= {"store_id": cipher.store_id, "key_check": cipher.key_check}
        self._save_facts(facts)

    def finish_migration(self, migration: Migration) -> None:
        """See `SupportsMigration.finish_migration`."""
        import msgspec

        self._save_facts({_MIGRATION_FACT: msgspec.json.encode(migration).decode()})

    def _save_facts(self, facts: Facts) -> None:
        with self._connections.write() as connection:
            save_facts(
                connection,
                {
                    name: None if value is None else self._encode_fact(value)
                    for name, value in facts.items()
                },
            )
            connection.run("COMMIT")


def save_facts(connection: Connection, facts: Mapping[str, Any]) -> None:
    """Store facts in `meta`; None deletes a fact."""
    removed = [(name,) for name, value in facts.items() if value is None]
    connection.run_many("DELETE FROM meta WHERE name = ?", removed)
    connection.run_many(_SET_FACT, [each for each in facts.items() if each[1] is not None])


# --- Store


OWNER_NAMES = "SELECT name FROM owners"


class SqlStore(OwnerErasureMixin, VerificationMixin, MigrationMixin, ReembeddingMixin):
    """The database-independent part of a `Store`."""

    _connections: Connections

    def __init__(self, connections: Connections, cipher: Cipher, index_cache_bytes: int) -> None:
        """Initialise with connections to existing tables."""
        ReembeddingMixin.__init__(self)
        self._connections = connections
        self._cipher = cipher
        self._indexes = IndexCache(index_cache_bytes)

    @abstractmethod
    def compact(self) -> bool:
        """See `OwnerEraser.compact`."""

    @property
    def jobs(self) -> JobStore:
        """See `Store.jobs`."""
        return SqlJobs(self._connections)

    @property
    def leases(self) -> WorkLeases:
        """See `Store.leases`."""
        return SqlWorkLeases(self._connections)

    @property
    def usage(self) -> UsageCounter:
        """See `Store.usage`."""
        return SqlUsageCounter(self._connections)

    @property
    def api_keys(self) -> ApiKeys:
        """See `Store.api_keys`."""
        return SqlApiKeys(self._connections)

    @property
    def idempotency(self) -> IdempotencyStore:
        """See `Store.idempotency`."""
        return SqlIdempotency(self._connections, self._cipher)

    @property
    def cipher(self) -> Cipher:
        """The cipher that encrypts the store."""
        return self._cipher

    @contextmanager
    def read(self, owner_id: str) -> Iterator[Snapshot]:
        """See `Store.read`."""
        with self._connections.read(owner_id) as connection:
            owner = connection.get_owner(owner_id)
            encryption, generation = self._encryption(owner_id, owner), self._get_generation(owner)

            def search() -> IndexSearch:
                generation.refuse_if_switched(connection)
                return self._search(connection, encryption, owner)

            yield SqlSnapshot(connection, encryption, owner, generation, search)

    @contextmanager
    def write(self, owner_id: str) -> Iterator[Transaction]:
        """See `Store.write`."""
        with ExitStack() as opened:
            connection, before, owner = self._begin_write(opened, owner_id)
            encryption = self._encryption(owner_id, owner)

            def search_at_begin() -> IndexSearch:
                # The owner is locked, so a new reader sees the state at the beginning. But the
                # vectors may have been switched since.
                reader = opened.enter_context(self._connections.read(owner_id))
                seen = replace(
                    before, embedding_generation=reader.get_owner(owner_id).embedding_generation
                )
                self._get_generation(seen).refuse_if_switched(reader)
                return self._search_at_begin(reader, encryption, seen)

            generation = self._get_generation(owner)
            transaction = SqlTransaction(connection, encryption, owner, generation, search_at_begin)
            yield transaction
            transaction.finish()

    def _begin_write(
        self, resources: ExitStack, owner_id: str
    ) -> tuple[Connection, OwnerRow, OwnerRow]:
        """Begin a write transaction and lock the owner, after waiting for any write pause."""
        while True:
            with ExitStack() as stack:
                connection = stack.enter_context(self._connections.write(owner_id))
                before, owner = self._lock_owner_row(connection, owner_id)
                if self._can_write(owner.write_pause):
                    resources.enter_context(stack.pop_all())
                    return connection, before, owner
            sleep(PAUSE_POLL_S)

    def _lock_owner_row(self, connection: Connection, owner_id: str) -> tuple[OwnerRow, OwnerRow]:
        """Return the locked owner row before and after it was created, if necessary."""
        owner = connection.get_owner(owner_id, lock=True)
        if owner.number:
            return owner, owner
        refuse_erased(connection, self._cipher, owner_id)
        inserted = connection.insert_owner(owner_id, self._cipher.ensure_key_version(owner_id))
        refuse_erased(connection, self._cipher, owner_id)  # a concurrent writer may have erased it
        return (inserted if inserted.counter else owner), inserted

    def key_version(self, owner_id: str) -> int:
        """See `SupportsRekey.key_version`."""
        with self._connections.read(owner_id) as connection:
            return connection.get_owner(owner_id).key_version

    def rekey(
        self, owner_id: str, key_version: int, build_entry: Callable[[str, str | None], IndexEntry]
    ) -> None:
        """See `SupportsRekey.rekey`."""
        with self._connections.write(owner_id) as connection:
            owner = connection.get_owner(owner_id, lock=True)
            if not owner.number or owner.key_version >= key_version:
                return
            rekeyed = replace(owner, key_version=key_version)
            encryptions = self._encryption(owner_id, owner), self._encryption(owner_id, rekeyed)
            Rekeyer(connection, owner.number, encryptions).run(build_entry)
            connection.run("DELETE FROM idempotency WHERE scope = ?", (owner_id,))
            connection.run(
                "UPDATE owners SET key_version = ? WHERE owner_id = ?", (key_version, owner.number)
            )
            connection.run("COMMIT")
        self.compact()

    def _get_generation(self, owner: OwnerRow) -> EmbeddingGeneration:
        """Return the generation in use; for an owner without data, the expected one."""
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
        """Return a search for use within a write transaction; it calls no external service."""
        return self._search(connection, encryption, owner)

    def _index(self, owner: OwnerRow, tables: TableIndexSource) -> OwnerIndex:
        if not owner.number:
            return empty_index(0)
        version = IndexVersion(owner.generation, owner.revision, owner.counter, owner.next_item)
        return self._indexes.get(owner.number, version, tables)

    def record_access(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """See `Store.record_access`."""
        accesses = ((pack_id_or_none(id_), *access) for id_, access in accessed.items())
        rows = [(count, micros(at), id_) for id_, count, at in accesses if id_]
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
        """See `Store.owners`."""
        with self._connections.read() as connection:
            return sorted(name for (name,) in connection.rows(OWNER_NAMES))
