"""What can be said of a database without opening the store in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memolith.adapters.postgres.connections import ConnectionSettings
from memolith.adapters.postgres.opening import (
    DISTRIBUTED,
    can_assume_application_role,
    get_vector_format,
    store_exists,
    verify_isolation,
)
from memolith.adapters.postgres.places import session
from memolith.adapters.postgres.upgrading import count_partitions
from memolith.adapters.postgres.vector_index import list_vector_indexes
from memolith.errors import InvalidConfiguration, StoreReadOnly

if TYPE_CHECKING:
    from memolith.adapters.postgres.places import DatabaseLocation
    from memolith.adapters.postgres.pool import PsycopgConnection
    from memolith.adapters.postgres.vector_index import VectorIndex

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
