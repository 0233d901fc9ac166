"""Wires what looks after the database of a store: `memolith db`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.crypto.plain import PlainCipher
from memolith.config.urls import without_password
from memolith.errors import InvalidInput
from memolith.stores import is_postgres, open_ciphers, open_ring, postgres_place, store_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.adapters.postgres.places import Place
    from memolith.config import Settings


@dataclass(frozen=True, slots=True)
class Index:
    """An index of vectors, or a part of one; see `adapters.postgres.vector_index`."""

    name: str
    kind: str
    is_valid: bool
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Status:
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
    vector_indexes: tuple[Index, ...] = ()
    partitions: int = 0
    is_distributed: bool = False
    role: str | None = None
    made_by: str | None = None
    unbound: str = ""
    owners: int | None = None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What became of a store: the schema it had, 0 where there was none, and the one it has."""

    found: int
    reached: int


def status(settings: Settings) -> Status:
    """Look at the store that is configured; nothing is changed.

    Raises:
        InvalidConfiguration: There is no such kind of store.
        StoreUnavailable: It can't be reached.
        StoreDamaged: It is not a store of Memolith.
    """
    if is_postgres(settings.store):
        return _of_postgres(settings)
    return _of_file(settings)


def _of_file(settings: Settings) -> Status:
    import apsw

    from memolith.adapters.sqlite.schema import MIGRATIONS
    from memolith.adapters.sqlite.status import status_of

    path = store_path(settings.store)
    found = status_of(path, settings.busy_timeout_s)
    database = f"SQLite {apsw.sqlite_lib_version()}"
    if found is None:
        return Status(str(path), database, 0, len(MIGRATIONS))
    cipher, dimension = str(found.facts["cipher"]), found.facts.get("dimension")
    return Status(
        str(path),
        database,
        found.schema,
        len(MIGRATIONS),
        encryption=None if cipher == PlainCipher.name else cipher,
        key_ring=None if cipher == PlainCipher.name else _ring(settings),
        embedder=str(found.facts["embedder"]) if "embedder" in found.facts else None,
        dimension=None if dimension is None else int(dimension),
        owners=found.owners,
        size_bytes=found.size_bytes,
    )


def _of_postgres(settings: Settings) -> Status:
    place = postgres_place(settings, settings.store)
    from memolith.adapters.postgres.schema import SCHEMA
    from memolith.adapters.postgres.status import status_of

    found = status_of(place)
    shown = f"{without_password(settings.store)}, schema {place.schema}"
    extension = f" with pgvector {found.pgvector}" if found.pgvector else " without pgvector"
    database = f"PostgreSQL {found.server}{extension}"
    if not found.facts:
        return Status(shown, database, 0, SCHEMA)
    facts = found.facts
    is_plain = facts["cipher"] == PlainCipher.name
    return Status(
        shown,
        database,
        int(facts["schema"]),
        SCHEMA,
        encryption=None if is_plain else facts["cipher"],
        key_ring=None if is_plain else _ring(settings),
        embedder=facts.get("embedder"),
        dimension=int(facts["dimension"]) if "dimension" in facts else None,
        vectors=facts["vector"],
        vector_indexes=tuple(
            Index(each.name, each.kind, each.is_valid, each.size_bytes) for each in found.indexes
        ),
        partitions=found.parts,
        is_distributed=found.is_distributed,
        role=found.role,
        made_by=found.made_by,
        unbound=found.unbound,
        owners=found.owners,
        size_bytes=found.size_bytes,
    )


def _ring(settings: Settings) -> str:
    with closing(open_ring(settings)) as ring:
        return str(ring.place)


def upgrade(settings: Settings, told: Callable[[int], None]) -> Upgraded | None:
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
    place = postgres_place(settings, settings.store)
    from memolith.adapters.postgres.schema import Making
    from memolith.adapters.postgres.upgrading import upgrade as upgrade_database

    own = settings.postgres
    making = Making(own.partitions, own.half_precision)
    with closing(open_ciphers(settings)) as ciphers:
        done = upgrade_database(place, ciphers=ciphers, making=making, told=told)
    return Upgraded(done.found, done.reached)


def build_index(
    settings: Settings, told: Callable[[str], None], advance: Callable[[int], None]
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
    place = _indexed(settings)
    from memolith.adapters.postgres.vector_index import build, drop

    if own.vector_index == "none":
        return drop(place, told)
    return build(place, own.vector_index, own.ivfflat_lists, told, advance)


def drop_index(settings: Settings, told: Callable[[str], None]) -> bool:
    """Remove the indexes of vectors, and return whether there was one; errors as `build_index`."""
    place = _indexed(settings)
    from memolith.adapters.postgres.vector_index import drop

    return drop(place, told)


def _indexed(settings: Settings) -> Place:
    return _database(settings, "is a file: it is searched without an index in a database")


def distribute(settings: Settings, told: Callable[[str], None]) -> bool:
    """Spread the store over the machines of a Citus cluster; return whether it was not yet.

    Raises:
        InvalidInput: It is in a file, or its tables are in parts.
        InvalidConfiguration: The server has no Citus.
        StoreReadOnly: Who the URL names does not own the tables.
        StoreUnavailable: The database can't be reached.
    """
    place = _database(settings, "is a file: only a PostgreSQL store can be on several machines")
    from memolith.adapters.postgres.distributing import distribute as distribute_database

    return distribute_database(place, told)


def _database(settings: Settings, otherwise: str) -> Place:
    if not is_postgres(settings.store):
        raise InvalidInput("store", otherwise)
    return postgres_place(settings, settings.store)
