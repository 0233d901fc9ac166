"""Inspect, distribute and delete a store in a database without opening it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from memolith.adapters.postgres.connections import ConnectionSettings, PsycopgConnection
from memolith.adapters.postgres.dsn import DatabaseLocation, require_table_owner, session
from memolith.adapters.postgres.opening import (
    DISTRIBUTED,
    can_assume_application_role,
    count_partitions,
    get_vector_format,
    lock_schema,
    read_facts,
    store_exists,
    verify_isolation,
)
from memolith.adapters.postgres.schema import OWNER_TABLES, SHARED_TABLES
from memolith.adapters.postgres.vector_index import VectorIndex, list_vector_indexes
from memolith.errors import InvalidConfiguration, InvalidInput, StoreReadOnly

_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
    " WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'"
)
_COUNT_OWNERS = "SELECT count(*) FROM owner_names()"
_TABLE_OWNER = "SELECT relowner::regrole::text FROM pg_class WHERE oid = to_regclass('owners')"
_EXTENSION = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"


@dataclass(frozen=True, slots=True)
class PostgresStatus:
    """The status of a database and the store in it, if there is one.

    Attributes:
        server: The server's version.
        pgvector: The version of the extension, or None if the database does not have it.
        facts: The rows of the table `meta`, or empty if there is no store.
        partitions: The number of partitions of its tables, 0 if they are not partitioned.
        is_distributed: Whether Citus distributes its tables over several machines.
        indexes: Its vector indexes.
        role: The role that opens the store.
        table_owner: The owner of its tables.
        isolation_problem: Why row-level security does not restrict that role, or "".
        size_bytes: The size on disk, including indexes.
        owners: The number of owners, or None without permission to count them.
    """

    server: str
    pgvector: str | None
    facts: dict[str, str]
    partitions: int = 0
    is_distributed: bool = False
    indexes: tuple[VectorIndex, ...] = ()
    role: str = ""
    table_owner: str = ""
    isolation_problem: str = ""
    size_bytes: int = 0
    owners: int | None = None


def get_status(location: DatabaseLocation) -> PostgresStatus:
    """Return the status of a database, using the role in its URL. Changes nothing.

    Raises:
        StoreUnavailable: The database cannot be reached.
    """
    with session(location) as raw:
        server = str(_fetch_value(raw, "SHOW server_version"))
        pgvector = _fetch_value(raw, _EXTENSION)
        if not store_exists(raw, location):
            return PostgresStatus(server, pgvector, {})
        facts: dict[str, str] = dict(raw.execute("SELECT name, value FROM meta").fetchall())
        is_application = can_assume_application_role(raw)
        if is_application:
            raw.execute("SET ROLE memolith_application")
        can_count = _fetch_value(raw, "SELECT has_function_privilege('owner_names()', 'EXECUTE')")
        return PostgresStatus(
            server,
            pgvector,
            facts,
            partitions=count_partitions(raw),
            is_distributed=DISTRIBUTED in facts,
            indexes=tuple(list_vector_indexes(raw, location.schema)),
            role=str(_fetch_value(raw, "SELECT current_user")),
            table_owner=str(_fetch_value(raw, _TABLE_OWNER)),
            isolation_problem=_find_isolation_problem(
                location, facts, uses_application_role=is_application
            ),
            size_bytes=int(_fetch_value(raw, _SIZE, (location.schema,))),
            owners=_fetch_value(raw, _COUNT_OWNERS) if can_count else None,
        )


def _fetch_value(raw: PsycopgConnection, statement: str, values: tuple[object, ...] = ()) -> Any:
    row = raw.execute(statement.encode(), values).fetchone()
    return row[0] if row else None


def _find_isolation_problem(
    location: DatabaseLocation, facts: dict[str, str], *, uses_application_role: bool
) -> str:
    access = ConnectionSettings(
        conninfo=location.conninfo,
        display_name=location.display_name,
        schema=location.schema,
        vector_format=get_vector_format(facts),
        uses_application_role=uses_application_role,
        timeout_s=location.timeout_s,
        statement_timeout_s=location.timeout_s,
        is_distributed=DISTRIBUTED in facts,
    )
    try:
        verify_isolation(access)
    except (InvalidConfiguration, StoreReadOnly) as error:
        return str(error)
    return ""


# --- Distribution over a Citus cluster


def build_distribution_statements(
    owner_tables: Sequence[str] = OWNER_TABLES, shared_tables: Sequence[str] = SHARED_TABLES
) -> list[str]:
    """Return the statements that distribute the tables.

    Args:
        owner_tables: Tables with an owner. They are distributed and co-located by owner.
        shared_tables: The other tables, which are small. Every machine gets a full copy.
    """
    first, *others = owner_tables
    return [
        *(f"SELECT create_reference_table('{table}')" for table in shared_tables),
        f"SELECT create_distributed_table('{first}', 'owner_id')",
        *(
            f"SELECT create_distributed_table('{table}', 'owner_id', colocate_with => '{first}')"
            for table in others
        ),
    ]


def distribute(location: DatabaseLocation, on_statement: Callable[[str], None]) -> bool:
    """Distribute a store over the machines of a Citus cluster; return False if it already is.

    Args:
        location: The coordinator.
        on_statement: Called with each statement before it runs.

    Raises:
        InvalidConfiguration: The server does not have Citus.
        InvalidInput: The tables are partitioned.
        StoreReadOnly: The role does not own the tables.
    """
    with session(location) as raw, require_table_owner(location):
        if DISTRIBUTED in read_facts(raw, location):
            return False
        try:
            raw.execute("CREATE EXTENSION IF NOT EXISTS citus")
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
            problem = (
                f"{location.display_name} does not have Citus:"
                " install it on every machine of the cluster first"
            )
            raise InvalidConfiguration("store", problem) from error
        if count_partitions(raw):
            problem = "has partitioned tables: move it to a store without `partitions` first"
            raise InvalidInput("store", problem)
        with raw.transaction():
            lock_schema(raw)
            for statement in build_distribution_statements():
                on_statement(statement)
                raw.execute(statement.encode())
            raw.execute("INSERT INTO meta VALUES (%s, '1')", (DISTRIBUTED,))
        return True


# --- Deletion


_REPLACED_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname ~ %s ORDER BY nspname"


def delete_store(location: DatabaseLocation, delete_keys: Callable[[bytes], None]) -> bool:
    """Drop a store's schema and those kept by restores; return whether there was a store.

    Args:
        location: The database and the schema.
        delete_keys: Deletes the keys of a store by its id. Called before the schema is dropped.

    Raises:
        StoreReadOnly: The role does not own the schema.
        StoreDamaged: The schema does not contain a Memolith store.
    """
    with session(location) as raw:
        if not store_exists(raw, location):
            return False
        facts = read_facts(raw, location)
        if facts["store_id"]:
            delete_keys(bytes.fromhex(facts["store_id"]))
        try:
            previous_schemas = raw.execute(
                _REPLACED_SCHEMAS, (rf"^{location.schema}_before_restore(_\d+)?$",)
            ).fetchall()
            for name in (location.schema, *(name for (name,) in previous_schemas)):
                raw.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            reason = error.diag.message_primary or "the role is not allowed to drop the tables"
            raise StoreReadOnly(location.display_name, reason) from error
        return True
