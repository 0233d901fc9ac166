"""Store the key ring in a PostgreSQL database, in a schema of its own beside the store's schema.

Several machines can share it, and a dump of the store's schema contains no keys. The application
role can read and write it. The maintenance role, and functions that run as it, have no access.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg

from memolith.adapters.crypto.key_storage import RECOVERY_HINT
from memolith.adapters.postgres.connections import Connection, Connections, ConnectionSettings
from memolith.adapters.postgres.dsn import INSPECTION_TIMEOUT_S, DatabaseLocation, session
from memolith.adapters.postgres.opening import can_assume_application_role
from memolith.adapters.postgres.row_level_security import APPLICATION, application_role_sql
from memolith.errors import KeyUnavailable, StoreDamaged, StoreReadOnly

KEY_SCHEMA_SUFFIX = "_keys"

_CONNECTIONS = 2
"""Pool size for reading and for writing. Small, because keys are cached in memory."""

_TABLES = f"""
CREATE SCHEMA IF NOT EXISTS {{schema}};
CREATE TABLE {{schema}}.ring (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE {{schema}}.stores (store bytea PRIMARY KEY, wrapped bytea NOT NULL);
CREATE TABLE {{schema}}.owners (
  store bytea NOT NULL, owner bytea NOT NULL, version bigint NOT NULL, wrapped bytea,
  PRIMARY KEY (store, owner, version)
);
GRANT USAGE ON SCHEMA {{schema}} TO {APPLICATION};
GRANT SELECT, INSERT, UPDATE, DELETE, MAINTAIN
  ON {{schema}}.ring, {{schema}}.stores, {{schema}}.owners TO {APPLICATION};
"""

_LOCK_MAKING = "SELECT pg_advisory_xact_lock(hashtextextended('memolith key rings', 0))"
# Writers of a ring are serialised. `synchronous_commit` is enforced, because a key is used as soon
# as it is committed.
_LOCK = (
    "SELECT pg_advisory_xact_lock(hashtextextended('memolith key ring ' || current_schema(), 0)),"
    " CASE WHEN current_setting('synchronous_commit') = 'off'"
    " THEN set_config('synchronous_commit', 'on', true) END"
)


class PostgresKeyStorage:
    """A key ring in a PostgreSQL database; see `KeyRingStorage`."""

    def __init__(self, store: DatabaseLocation) -> None:
        """Use the key schema of a store's database. Does not connect yet."""
        self._location = replace(store, schema=f"{store.schema}{KEY_SCHEMA_SUFFIX}")
        self._lock = threading.Lock()
        self._cached_connections: Connections | None = None
        self._exists = False

    def __str__(self) -> str:
        """Return the names of the database and the schema."""
        return f"{self._location.display_name}, schema {self._location.schema}"

    def exists(self) -> bool:
        """See `KeyRingStorage`."""
        if not self._exists:
            with session(self._location, response_timeout_s=INSPECTION_TIMEOUT_S) as raw:
                name = f"{self._location.schema}.ring"
                row = raw.execute("SELECT to_regclass(%s) IS NOT NULL", (name,)).fetchone()
                self._exists = bool(row and row[0])
        return self._exists

    def create(self) -> None:
        """See `KeyRingStorage`.

        Raises:
            StoreReadOnly: The role in the URL is not allowed to create schemas or roles.
        """
        if self.exists():
            return
        with session(self._location) as raw, raw.transaction():
            raw.execute(_LOCK_MAKING)
            name = f"{self._location.schema}.ring"
            if raw.execute("SELECT to_regclass(%s)", (name,)).fetchone() != (None,):
                return
            try:
                raw.execute(application_role_sql().encode())
                raw.execute(_TABLES.format(schema=self._location.schema).encode())
            except psycopg.errors.InsufficientPrivilege as error:
                message = error.diag.message_primary
                reason = (
                    f"there is no key ring, and its role is not allowed to create one ({message})"
                )
                raise StoreReadOnly(str(self), reason) from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See `KeyRingStorage`."""
        with self._translate_damage(), self._get_connections().read() as rows:
            yield rows

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """See `KeyRingStorage`."""
        with self._translate_damage(), self._get_connections().write() as rows:
            rows.row(_LOCK)
            yield rows
            rows.run("COMMIT")

    def compact(self) -> None:
        """Vacuum the tables. Removes nothing from the server's log or from copies of it."""
        with self._get_connections().autocommit() as connection:
            connection.run("VACUUM (SKIP_LOCKED) ring, stores, owners")

    def close(self) -> None:
        """See `KeyRingStorage`."""
        with self._lock:
            connections, self._cached_connections = self._cached_connections, None
        if connections is not None:
            connections.close()

    @contextmanager
    def _translate_damage(self) -> Iterator[None]:
        try:
            yield
        except StoreDamaged as error:
            raise KeyUnavailable(
                f"the key ring cannot be read: {error}; {RECOVERY_HINT}"
            ) from error

    def _get_connections(self) -> Connections:
        with self._lock:
            if self._cached_connections is None:
                self._cached_connections = Connections(
                    self._build_settings(), _CONNECTIONS, _CONNECTIONS
                )
            return self._cached_connections

    def _build_settings(self) -> ConnectionSettings:
        location = self._location
        with session(location) as raw:
            is_application = can_assume_application_role(raw)
        return ConnectionSettings(
            conninfo=location.conninfo,
            display_name=str(self),
            schema=location.schema,
            vector_format=None,
            uses_application_role=is_application,
            timeout_s=location.timeout_s,
            statement_timeout_s=location.timeout_s,
        )
