"""What can be said of a database without opening the store in it."""

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
    """A database, and the store in it if there is one.

    Attributes:
        server: The server's version.
        pgvector: The extension's version; None: it is not in the database.
        facts: What the store says of itself; empty: there is none.
        parts: Into how many parts its tables are parted by owner; 0: none.
        is_distributed: Whether Citus has its tables on several machines.
        indexes: The indexes of its vectors.
        role: As whom the store would be opened.
        made_by: Who owns its tables.
        unbound: Why that role is not kept to one owner's rows; "" where it is.
        size_bytes: What it takes on disk, with its indexes.
        owners: How many owners there are; None: who asks may not know.
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
    """Look at a database, as whom its URL names; nothing is changed.

    Raises:
        StoreUnavailable: It can't be reached.
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
        may_count = _fetch_value(raw, "SELECT has_function_privilege('owner_names()', 'EXECUTE')")
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
            owners=_fetch_value(raw, _COUNT_OWNERS) if may_count else None,
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


# --- Spreading a store over the machines of a Citus cluster, as `memolith db distribute` does


def build_distribution_statements(
    owner_tables: Sequence[str] = OWNER_TABLES, shared_tables: Sequence[str] = SHARED_TABLES
) -> list[str]:
    """Return the statements that spread the tables, each for itself.

    Args:
        bound: The tables of owners: spread by owner, all rows of one owner on the same machine.
        free: The others, which are small: a whole copy of each on every machine.
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
    """Spread a store over the machines of a cluster; return whether it was not spread yet.

    Args:
        place: The coordinator.
        told: Is called with each statement before it is run.

    Raises:
        InvalidConfiguration: The server has no Citus.
        InvalidInput: The tables are in parts already.
        StoreReadOnly: Who is connected does not own the tables.
    """
    with session(location) as raw, require_table_owner(location):
        if DISTRIBUTED in read_facts(raw, location):
            return False
        try:
            raw.execute("CREATE EXTENSION IF NOT EXISTS citus")
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile) as error:
            problem = f"{location.display_name} has no Citus: install it on every machine of the cluster first"
            raise InvalidConfiguration("store", problem) from error
        if count_partitions(raw):
            problem = "has its tables in parts; make one without `partitions` and move it there"
            raise InvalidInput("store", problem)
        with raw.transaction():
            lock_schema(raw)
            for statement in build_distribution_statements():
                on_statement(statement)
                raw.execute(statement.encode())
            raw.execute("INSERT INTO meta VALUES (%s, '1')", (DISTRIBUTED,))
        return True


# --- Deleting a store in a database, with its keys


_REPLACED_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname ~ %s ORDER BY nspname"


def delete_store(location: DatabaseLocation, delete_keys: Callable[[bytes], None]) -> bool:
    """Remove a store's schema, and those that restoring has kept; return whether there was one.

    Args:
        place: Where.
        forget: Removes the keys of a store by its id; is called first.

    Raises:
        StoreReadOnly: Who is connected does not own the schema.
        StoreDamaged: What is there does not say that it is a store.
    """
    with session(location) as raw:
        if not store_exists(raw, location):
            return False
        facts = read_facts(raw, location)
        if facts["store_id"]:
            delete_keys(bytes.fromhex(facts["store_id"]))
        try:
            kept = raw.execute(
                _REPLACED_SCHEMAS, (rf"^{location.schema}_before_restore(_\d+)?$",)
            ).fetchall()
            for name in (location.schema, *(name for (name,) in kept)):
                raw.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            reason = error.diag.message_primary or "its role may not delete the tables"
            raise StoreReadOnly(location.display_name, reason) from error
        return True
