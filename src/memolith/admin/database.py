"""Wires what looks after the database of a store: `memolith db`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.crypto.ciphers import PlainCipher
from memolith.adapters.postgres.schema import SCHEMA, NewStoreOptions
from memolith.adapters.sqlite.opening import read_file_status
from memolith.adapters.sqlite.schema import MIGRATIONS
from memolith.config import Settings
from memolith.config.loading import mask_password
from memolith.errors import InvalidInput
from memolith.stores import is_postgres, open_ciphers, open_key_ring, postgres_location, store_path

if TYPE_CHECKING:
    from memolith.adapters.postgres.dsn import DatabaseLocation


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An index of vectors, or a part of one; see `adapters.postgres.vector_index`."""

    name: str
    kind: str
    is_valid: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """A store and its database, without what is secret in its URL.

    Attributes:
        store: Where it is.
        database: Which database, with its version.
        schema_found: The schema of its tables; 0: there is no store.
        schema_needed: The schema that this Memolith needs.
        encryption: The cipher; None: it is not encrypted.
        key_ring: Where its keys are; None: it has none.
        embedder: The model of its vectors; None: none was adopted yet.
        dimension: The length of its vectors.
        vectors: How they stand in their column.
        vector_indexes: The indexes of them.
        partitions: Into how many parts its tables are parted by owner; 0: none.
        is_distributed: Whether its tables are on several machines.
        role: As whom it would be opened.
        made_by: Who owns its tables.
        unbound: Why the role is not kept to one owner's rows; "" where it is.
        owners: How many owners there are; None: it can't be told.
        size_bytes: What it takes on disk, with its indexes.
    """

    store: str
    database: str
    schema_found: int
    schema_needed: int
    encryption: str | None = None
    key_ring: str | None = None
    embedder: str | None = None
    dimension: int | None = None
    vectors: str | None = None
    vector_indexes: tuple[VectorIndex, ...] = ()
    partitions: int = 0
    is_distributed: bool = False
    role: str | None = None
    table_owner: str | None = None
    row_level_security_problem: str = ""
    owners: int | None = None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """What became of a store: the schema it had, 0 where there was none, and the one it has."""

    from_schema: int
    to_schema: int


def get_status(settings: Settings) -> DatabaseStatus:
    """Look at the store that is configured; nothing is changed.

    Raises:
        InvalidConfiguration: There is no such kind of store.
        StoreUnavailable: It can't be reached.
        StoreDamaged: It is not a store of Memolith.
    """
    if is_postgres(settings.store):
        return _get_postgres_status(settings)
    return _get_file_status(settings)


def _get_file_status(settings: Settings) -> DatabaseStatus:
    import apsw

    path = store_path(settings.store)
    found = read_file_status(path, settings.busy_timeout_s)
    database = f"SQLite {apsw.sqlite_lib_version()}"
    if found is None:
        return DatabaseStatus(str(path), database, 0, len(MIGRATIONS))
    cipher, dimension = str(found.facts["cipher"]), found.facts.get("dimension")
    return DatabaseStatus(
        str(path),
        database,
        found.schema,
        len(MIGRATIONS),
        encryption=None if cipher == PlainCipher.name else cipher,
        key_ring=None if cipher == PlainCipher.name else _key_ring_location(settings),
        embedder=str(found.facts["embedder"]) if "embedder" in found.facts else None,
        dimension=None if dimension is None else int(dimension),
        owners=found.owners,
        size_bytes=found.size_bytes,
    )


def _get_postgres_status(settings: Settings) -> DatabaseStatus:
    place = postgres_location(settings, settings.store)
    from memolith.adapters.postgres.admin import get_status

    found = get_status(place)
    shown = f"{mask_password(settings.store)}, schema {place.schema}"
    extension = f" with pgvector {found.pgvector}" if found.pgvector else " without pgvector"
    database = f"PostgreSQL {found.server}{extension}"
    if not found.facts:
        return DatabaseStatus(shown, database, 0, SCHEMA)
    facts = found.facts
    is_plain = facts["cipher"] == PlainCipher.name
    return DatabaseStatus(
        shown,
        database,
        int(facts["schema"]),
        SCHEMA,
        encryption=None if is_plain else facts["cipher"],
        key_ring=None if is_plain else _key_ring_location(settings),
        embedder=facts.get("embedder"),
        dimension=int(facts["dimension"]) if "dimension" in facts else None,
        vectors=facts["vector"],
        vector_indexes=tuple(
            VectorIndex(each.name, each.kind, each.is_valid, each.size_bytes)
            for each in found.indexes
        ),
        partitions=found.partitions,
        is_distributed=found.is_distributed,
        role=found.role,
        table_owner=found.table_owner,
        row_level_security_problem=found.isolation_problem,
        owners=found.owners,
        size_bytes=found.size_bytes,
    )


def _key_ring_location(settings: Settings) -> str:
    with closing(open_key_ring(settings)) as ring:
        return str(ring.storage)


def upgrade(settings: Settings, on_progress: Callable[[int], None]) -> UpgradeResult | None:
    """Make the store that is configured, or bring its tables up to date.

    None: it is a file, which opening brings up to date.

    Args:
        settings: What is configured.
        told: Is called with each schema that is reached.

    Raises:
        StoreReadOnly: Who the URL names may not change the tables.
        StoreTooNew: A newer Memolith has written it.
        StoreUnavailable: The database can't be reached, or somebody holds a table for too long.
    """
    if not is_postgres(settings.store):
        return None
    place = postgres_location(settings, settings.store)
    from memolith.adapters.postgres.opening import upgrade as upgrade_database

    own = settings.postgres
    making = NewStoreOptions(own.partitions, own.half_precision)
    with closing(open_ciphers(settings)) as ciphers:
        done = upgrade_database(
            place, ciphers=ciphers, options=making, on_schema_reached=on_progress
        )
    return UpgradeResult(done.schema_before, done.schema_after)


def build_index(
    settings: Settings, on_statement: Callable[[str], None], advance: Callable[[int], None]
) -> bool:
    """Build the index of vectors that is configured; return whether anything was done.

    Args:
        settings: What is configured; where no index is, one that is there is dropped.
        told: Is called with each statement before it is run.
        advance: Is called with how many vectors were taken up since the last call.

    Raises:
        InvalidInput: It is in a file, which needs none; or it has no vectors yet.
        StoreReadOnly: Who the URL names does not own the tables.
        StoreUnavailable: The database can't be reached.
    """
    own = settings.postgres
    place = _require_indexable(settings)
    from memolith.adapters.postgres.vector_index import build_indexes, drop_indexes

    if own.vector_index == "none":
        return drop_indexes(place, on_statement)
    return build_indexes(place, own.vector_index, own.ivfflat_lists, on_statement, advance)


def drop_index(settings: Settings, on_statement: Callable[[str], None]) -> bool:
    """Remove the indexes of vectors, and return whether there was one; errors as `build_index`."""
    place = _require_indexable(settings)
    from memolith.adapters.postgres.vector_index import drop_indexes

    return drop_indexes(place, on_statement)


def _require_indexable(settings: Settings) -> DatabaseLocation:
    return _require_postgres(settings, "is a file: it is searched without an index in a database")


def distribute(settings: Settings, on_statement: Callable[[str], None]) -> bool:
    """Spread the store over the machines of a Citus cluster; return whether it was not yet.

    Raises:
        InvalidInput: It is in a file, or its tables are in parts.
        InvalidConfiguration: The server has no Citus.
        StoreReadOnly: Who the URL names does not own the tables.
        StoreUnavailable: The database can't be reached.
    """
    place = _require_postgres(
        settings, "is a file: only a PostgreSQL store can be on several machines"
    )
    from memolith.adapters.postgres.admin import distribute as distribute_database

    return distribute_database(place, on_statement)


def _require_postgres(settings: Settings, problem: str) -> DatabaseLocation:
    if not is_postgres(settings.store):
        raise InvalidInput("store", problem)
    return postgres_location(settings, settings.store)
