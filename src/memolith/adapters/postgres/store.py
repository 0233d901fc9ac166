"""The store in a PostgreSQL database."""

from __future__ import annotations

from typing import Any

from psycopg.errors import LockNotAvailable

from memolith.adapters.postgres.backups import BackupMixin
from memolith.adapters.postgres.connections import Connections, ConnectionSettings
from memolith.adapters.postgres.dsn import parse_dsn, session
from memolith.adapters.postgres.opening import (
    can_assume_application_role,
    open_or_create,
    verify_isolation,
)
from memolith.adapters.postgres.schema import OWNER_TABLES, NewStoreOptions
from memolith.adapters.postgres.vector_index import (
    PgvectorTables,
    get_column_width,
    require_index_dimension,
)
from memolith.adapters.sql import connection as shared
from memolith.adapters.sql.codecs import OwnerEncryption
from memolith.adapters.sql.connection import OwnerRow
from memolith.adapters.sql.embedding_generations import VectorFacts
from memolith.adapters.sql.external_vector_search import ExternalVectorSearch
from memolith.adapters.sql.search import IndexSearch
from memolith.adapters.sql.store import SqlStore
from memolith.errors import StoreUnavailable
from memolith.ports.admin import EmbeddingModel, Finding
from memolith.ports.cipher import Cipher, CipherProvider, SupportsClose
from memolith.ports.store import StoreMeta

_MEBIBYTE = 1024 * 1024

VECTORS_IN_MEMORY = 131_072
"""Maximum number of an owner's items searched in memory.

For the measurements, see docs/decisions/0030-postgresql-store.md.
"""

_LOCK_FACTS = "SELECT 1 FROM meta WHERE name = 'schema' FOR UPDATE"


class PostgresStore(BackupMixin, SqlStore):
    """A `Store` in one schema of a PostgreSQL database."""

    _connections: Connections

    def __init__(
        self,
        connections: Connections,
        cipher: Cipher,
        index_cache_bytes: int,
        vectors_in_memory: int = VECTORS_IN_MEMORY,
    ) -> None:
        """Create a store from connections to a prepared schema; see `open`."""
        super().__init__(connections, cipher, index_cache_bytes)
        self._vectors_in_memory = vectors_in_memory

    @classmethod
    def open(  # noqa: PLR0913 - settings, passed by keyword
        cls,
        url: str,
        *,
        cipher: CipherProvider,
        analyser: int = 1,
        schema: str = "memolith",
        busy_timeout_s: float = 5.0,
        statement_timeout_s: float = 60.0,
        connections: int = 8,
        options: NewStoreOptions | None = None,
        index_cache_bytes: int = 192 * _MEBIBYTE,
        vectors_in_memory: int = VECTORS_IN_MEMORY,
    ) -> PostgresStore:
        """Open a store; create its tables if they do not exist.

        Args:
            url: The database, as a connection string for libpq.
            cipher: Provides the cipher of the store.
            analyser: Version of the text analysis, saved in a new store.
            schema: The schema of the tables.
            busy_timeout_s: Timeout for locks and for a free connection.
            statement_timeout_s: Timeout for statements; 0: no limit.
            connections: Maximum number of connections for reading, and again for writing.
            options: Options of a new store.
            index_cache_bytes: Maximum memory of the search indexes of all owners.
            vectors_in_memory: Owners with more items than this are searched in the database.

        Raises:
            InvalidConfiguration: The URL is invalid, or the database does not isolate owners.
            StoreUnavailable: The database cannot be reached, or its schema must be upgraded.
            StoreReadOnly: There is no store, and the role is not allowed to create one.
            StoreDamaged: The schema does not contain a Memolith store.
            StoreTooNew: The store was written by a newer Memolith.
            KeyUnavailable: The key is missing or wrong.
        """
        location = parse_dsn(url, schema, busy_timeout_s)
        opened = open_or_create(
            location, ciphers=cipher, analyser=analyser, options=options or NewStoreOptions()
        )
        with session(location) as raw:
            is_application = can_assume_application_role(raw)
        access = ConnectionSettings(
            conninfo=location.conninfo,
            display_name=location.display_name,
            schema=schema,
            vector_format=opened.vector_format,
            uses_application_role=is_application,
            timeout_s=busy_timeout_s,
            statement_timeout_s=statement_timeout_s,
            is_distributed=opened.is_distributed,
        )
        verify_isolation(access)
        pools = Connections(access, connections, connections)
        return cls(pools, opened.cipher, index_cache_bytes, vectors_in_memory)

    def _search(
        self, connection: shared.Connection, encryption: OwnerEncryption, owner: OwnerRow
    ) -> IndexSearch:
        if owner.next_item <= self._vectors_in_memory:
            return super()._search(connection, encryption, owner)
        tables = PgvectorTables(
            connection, encryption, owner.number, self._get_generation(owner).column
        )
        return ExternalVectorSearch(self._index(owner, tables), tables)

    @property
    def location(self) -> str:
        """See `SupportsMigration`."""
        access = self._connections.settings
        return f"{access.display_name}, schema {access.schema}"

    def _encode_fact(self, value: str | int | bytes) -> Any:
        return value.hex() if isinstance(value, bytes) else str(value)

    @property
    def meta(self) -> StoreMeta:
        """See `Store`."""
        with self._connections.read() as connection:
            facts: dict[str, str] = dict(connection.rows("SELECT name, value FROM meta"))
        return VectorFacts.from_facts(facts).to_meta(
            int(facts["schema"]), facts["cipher"], int(facts["analyser"])
        )

    def _lock_facts(self, connection: shared.Connection) -> None:
        connection.row(_LOCK_FACTS)

    def _check_vector_length(
        self, connection: shared.Connection, column: str, model: EmbeddingModel
    ) -> None:
        is_hidden = bool(self._cipher.store_id)
        require_index_dimension(
            connection, column, get_column_width(model.dimension, is_encrypted=is_hidden)
        )

    def _lock_out_writers(self, connection: shared.Connection) -> None:
        # Writers store an item before its vectors. So each has either committed, or will read
        # afterwards which vector column is in use.
        connection.run("LOCK TABLE items IN SHARE MODE")

    def compact(self) -> bool:
        """See `Store`: vacuums the tables, so that the space of deleted rows is reused.

        Removes nothing from the server's log or from copies of it. Returns False if another session
        holds a conflicting lock for longer than the timeout.
        """
        with self._connections.autocommit() as connection:
            connection.run("SET statement_timeout = 0")
            try:
                connection.run(f"VACUUM {', '.join(OWNER_TABLES)}")
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, LockNotAvailable):
                    raise
                return False
            finally:
                connection.run(
                    f"SET statement_timeout = {self._connections.settings.statement_timeout_ms}"
                )
        return True

    def check_file(self) -> list[Finding]:
        """See `SupportsVerification`: finds rows without an owner, and does not check the files."""
        return [
            Finding("orphan", None, None, f"rows of {table} without an owner")
            for table in dict.fromkeys(table for table, _ in self._find_orphans())
        ]

    def repair_file(self) -> None:
        """See `SupportsVerification`."""
        for table, number in self._find_orphans():
            with self._connections.write() as connection:
                connection.set_owner(number)
                connection.run(f"DELETE FROM {table} WHERE owner_id = ?", (number,))
                connection.run("COMMIT")

    def _find_orphans(self) -> list[tuple[str, int]]:
        with self._connections.read() as connection:
            rows = connection.rows("SELECT table_name, number FROM nobodys_rows()")
        return [(table, number) for table, number in rows]

    def _lock_owner(self, connection: shared.Connection, owner_id: str) -> None:
        if not connection.get_owner(owner_id, lock=True).number:
            connection.insert_owner(owner_id, 0)

    def close(self) -> None:
        """See `Store`."""
        self._indexes.forget()
        self._connections.close()
        if isinstance(self._cipher, SupportsClose):
            self._cipher.close()
