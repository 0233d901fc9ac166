"""What can be said of a database without opening the store in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memolith.adapters.postgres.connections import Access
from memolith.adapters.postgres.opening import (
    DISTRIBUTED,
    form_in,
    is_there,
    may_become_application,
    probe,
)
from memolith.adapters.postgres.places import session
from memolith.adapters.postgres.upgrading import parts_of
from memolith.adapters.postgres.vector_index import found
from memolith.errors import InvalidConfiguration, StoreReadOnly

if TYPE_CHECKING:
    from memolith.adapters.postgres.places import Place
    from memolith.adapters.postgres.pool import Raw
    from memolith.adapters.postgres.vector_index import Found

_SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
    " WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'"
)
_OWNERS = "SELECT count(*) FROM owner_names()"
_MADE_BY = "SELECT relowner::regrole::text FROM pg_class WHERE oid = to_regclass('owners')"
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
    parts: int = 0
    is_distributed: bool = False
    indexes: tuple[Found, ...] = ()
    role: str = ""
    made_by: str = ""
    unbound: str = ""
    size_bytes: int = 0
    owners: int | None = None


def status_of(place: Place) -> PostgresStatus:
    """Look at a database, as whom its URL names; nothing is changed.

    Raises:
        StoreUnavailable: It can't be reached.
    """
    with session(place) as raw:
        server = str(_one(raw, "SHOW server_version"))
        pgvector = _one(raw, _EXTENSION)
        if not is_there(raw, place):
            return PostgresStatus(server, pgvector, {})
        facts: dict[str, str] = dict(raw.execute("SELECT name, value FROM meta").fetchall())
        is_application = may_become_application(raw)
        if is_application:
            raw.execute("SET ROLE memolith_application")
        may_count = _one(raw, "SELECT has_function_privilege('owner_names()', 'EXECUTE')")
        return PostgresStatus(
            server,
            pgvector,
            facts,
            parts=parts_of(raw),
            is_distributed=DISTRIBUTED in facts,
            indexes=tuple(found(raw, place.schema)),
            role=str(_one(raw, "SELECT current_user")),
            made_by=str(_one(raw, _MADE_BY)),
            unbound=_unbound(place, facts, is_application=is_application),
            size_bytes=int(_one(raw, _SIZE, (place.schema,))),
            owners=_one(raw, _OWNERS) if may_count else None,
        )


def _one(raw: Raw, statement: str, values: tuple[object, ...] = ()) -> Any:
    row = raw.execute(statement.encode(), values).fetchone()
    return row[0] if row else None


def _unbound(place: Place, facts: dict[str, str], *, is_application: bool) -> str:
    access = Access(
        conninfo=place.conninfo,
        place=place.name,
        schema=place.schema,
        form=form_in(facts),
        is_application=is_application,
        timeout_s=place.timeout_s,
        statement_timeout_s=place.timeout_s,
        is_distributed=DISTRIBUTED in facts,
    )
    try:
        probe(access)
    except (InvalidConfiguration, StoreReadOnly) as error:
        return str(error)
    return ""
