"""Inspects and maintains a store's database, for `memolith db`."""

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
    """A vector index, or the part of one in a partition; see `adapters.postgres.vector_index`."""

    name: str
    kind: str
    is_valid: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """The status of a store and its database, without passwords.

    Attributes:
        store: The store's location.
        database: The database product and its version.
        schema_found: The schema version of the tables; 0: there is no store.
        schema_needed: The schema version that this Memolith needs.
        encryption: The cipher's name; None: not encrypted.
        key_ring: The location of the keys; None: not encrypted.
        embedder: The embedding model of the vectors; None: nothing was embedded yet.
        dimension: The length of the vectors.
        vectors: The type of the vector column.
        vector_indexes: The indexes of the vectors.
        partitions: The number of partitions by owner; 0: not partitioned.
        is_distributed: Whether Citus distributes the tables over several machines.
        role: The database role that opens the store.
        table_owner: The role that owns the tables.
        row_level_security_problem: Why row-level security is not in force for the role, or "".
        owners: The number of owners; None: unknown.
        size_bytes: The size on disk, including indexes.
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
    """The schema versions before (0: a new store) and after an upgrade."""

    from_schema: int
    to_schema: int


def get_status(settings: Settings) -> DatabaseStatus:
    """Return the status of the configured store; changes nothing.

    Raises:
        InvalidConfiguration: The URL's scheme is not supported.
        StoreUnavailable: The store can't be reached.
        StoreDamaged: It is not a Memolith store.
    """
    if is_postgres(settings.store):
        return _get_postgres_status(settings)
    return _get_file_status(settings)


def _get_file_status(settings: Settings) -> DatabaseStatus:
    import apsw

    path = store_path(settings.store)
    status = read_file_status(path, settings.busy_timeout_s)
    database = f"SQLite {apsw.sqlite_lib_version()}"
    if status is None:
        return DatabaseStatus(str(path), database, 0, len(MIGRATIONS))
    cipher, dimension = str(status.facts["cipher"]), status.facts.get("dimension")
    return DatabaseStatus(
        str(path),
        database,
        status.schema,
        len(MIGRATIONS),
        encryption=None if cipher == PlainCipher.name else cipher,
        key_ring=None if cipher == PlainCipher.name else _key_ring_location(settings),
        embedder=str(status.facts["embedder"]) if "embedder" in status.facts else None,
        dimension=None if dimension is None else int(dimension),
        owners=status.owners,
        size_bytes=status.size_bytes,
    )


def _get_postgres_status(settings: Settings) -> DatabaseStatus:
    place = postgres_location(settings, settings.store)
    from memolith.adapters.postgres.admin import get_status

    status = get_status(place)
    description = f"{mask_password(settings.store)}, schema {place.schema}"
    extension = f" with pgvector {status.pgvector}" if status.pgvector else " without pgvector"
    database = f"PostgreSQL {status.server}{extension}"
    if not status.facts:
        return DatabaseStatus(description, database, 0, SCHEMA)
    facts = status.facts
    is_plain = facts["cipher"] == PlainCipher.name
    return DatabaseStatus(
        description,
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
            for each in status.indexes
        ),
        partitions=status.partitions,
        is_distributed=status.is_distributed,
        role=status.role,
        table_owner=status.table_owner,
        row_level_security_problem=status.isolation_problem,
        owners=status.owners,
        size_bytes=status.size_bytes,
    )


def _key_ring_location(settings: Settings) -> str:
    with closing(open_key_ring(settings)) as ring:
        return str(ring.storage)


def upgrade(settings: Settings, on_progress: Callable[[int], None]) -> UpgradeResult | None:
    """Create the configured store's tables, or migrate them to the current schema.

    Returns None for a file, which is migrated when it is opened.

    Args:
        settings: The loaded settings.
        on_progress: Called with each schema version reached.

    Raises:
        StoreReadOnly: The database role may not change the tables.
        StoreTooNew: A newer Memolith wrote the store.
        StoreUnavailable: The database can't be reached, or a table stays locked for too long.
    """
    if not is_postgres(settings.store):
        return None
    place = postgres_location(settings, settings.store)
    from memolith.adapters.postgres.opening import upgrade as upgrade_database

    postgres = settings.postgres
    options = NewStoreOptions(postgres.partitions, postgres.half_precision)
    with closing(open_ciphers(settings)) as ciphers:
        result = upgrade_database(
            place, ciphers=ciphers, options=options, on_schema_reached=on_progress
        )
    return UpgradeResult(result.schema_before, result.schema_after)


def build_index(
    settings: Settings, on_statement: Callable[[str], None], advance: Callable[[int], None]
) -> bool:
    """Build the configured vector index, or drop it if none is configured.

    Returns:
        Whether anything changed.

    Args:
        settings: The loaded settings.
        on_statement: Called with each SQL statement before it runs.
        advance: Called with the number of vectors indexed since the last call.

    Raises:
        InvalidInput: The store is a file, which needs no index; or it has no vectors yet.
        StoreReadOnly: The database role does not own the tables.
        StoreUnavailable: The database can't be reached.
    """
    postgres = settings.postgres
    place = _require_indexable(settings)
    from memolith.adapters.postgres.vector_index import build_indexes, drop_indexes

    if postgres.vector_index == "none":
        return drop_indexes(place, on_statement)
    return build_indexes(
        place, postgres.vector_index, postgres.ivfflat_lists, on_statement, advance
    )


def drop_index(settings: Settings, on_statement: Callable[[str], None]) -> bool:
    """Drop the vector indexes; return whether there were any. Raises as `build_index` does."""
    place = _require_indexable(settings)
    from memolith.adapters.postgres.vector_index import drop_indexes

    return drop_indexes(place, on_statement)


def _require_indexable(settings: Settings) -> DatabaseLocation:
    return _require_postgres(settings, "is a file: only PostgreSQL has a vector index")


def distribute(settings: Settings, on_statement: Callable[[str], None]) -> bool:
    """Distribute the tables over a Citus cluster; return False if they already are.

    Raises:
        InvalidInput: The store is a file, or its tables are partitioned.
        InvalidConfiguration: Citus is not installed on the server.
        StoreReadOnly: The database role does not own the tables.
        StoreUnavailable: The database can't be reached.
    """
    place = _require_postgres(settings, "is a file; only a PostgreSQL store can be distributed")
    from memolith.adapters.postgres.admin import distribute as distribute_database

    return distribute_database(place, on_statement)


def _require_postgres(settings: Settings, problem: str) -> DatabaseLocation:
    if not is_postgres(settings.store):
        raise InvalidInput("store", problem)
    return postgres_location(settings, settings.store)
