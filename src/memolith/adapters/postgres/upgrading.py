"""Bringing a store up to date, as `memolith db upgrade` does: a migration at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.adapters.postgres.opening import (
    create_store,
    get_vector_format,
    lock_schema,
    read_facts,
    store_exists,
)
from memolith.adapters.postgres.places import require_table_owner, session
from memolith.adapters.postgres.schema import MIGRATIONS, StoreLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.adapters.postgres.places import DatabaseLocation
    from memolith.adapters.postgres.pool import PsycopgConnection
    from memolith.adapters.postgres.schema import NewStoreOptions
    from memolith.ports.cipher import CipherProvider

    Migrations = Sequence[Callable[[StoreLayout], str]]

_COUNT_PARTITIONS = "SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass('owners')"


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """What became of a store.

    Attributes:
        found: The schema it had; 0 where there was no store.
        reached: The schema it has.
    """

    schema_before: int
    schema_after: int


def upgrade(
    location: DatabaseLocation,
    *,
    ciphers: CipherProvider,
    analyser: int = 1,
    options: NewStoreOptions,
    on_schema_reached: Callable[[int], None],
    migrations: Migrations = MIGRATIONS,
) -> UpgradeResult:
    """Make a store where there is none, or bring one up to date.

    Each migration is a transaction of its own, with nobody else migrating: interrupted anywhere,
    the store has the schema that was reached, and the next call goes on from there.

    Args:
        place: Where.
        ciphers: What a new store is encrypted with.
        analyser: By which version of the analyser a new one is indexed.
        making: How a new one is to be.
        told: Is called with each schema that is reached.
        migrations: What there is.

    Raises:
        StoreUnavailable: The database can't be reached, or somebody holds a table for too long.
        StoreReadOnly: Who is connected may not make or change the tables.
        StoreDamaged: It does not say what it is.
        StoreTooNew: A newer Memolith has written it; nothing was changed.
    """
    with session(location) as raw:
        if not store_exists(raw, location) and create_store(
            raw, location, ciphers, analyser, options, migrations
        ):
            on_schema_reached(len(migrations))
            return UpgradeResult(0, len(migrations))
        found = reached = int(read_facts(raw, location, len(migrations))["schema"])
        with require_table_owner(location):
            while _run_next_migration(raw, location, migrations):
                reached = int(read_facts(raw, location, len(migrations))["schema"])
                on_schema_reached(reached)
        return UpgradeResult(found, reached)


def _run_next_migration(
    raw: PsycopgConnection, location: DatabaseLocation, migrations: Migrations
) -> bool:
    """Run the next migration; return whether there was one."""
    with raw.transaction():
        lock_schema(raw)
        facts = read_facts(raw, location, len(migrations))
        found = int(facts["schema"])
        if found == len(migrations):
            return False
        shape = StoreLayout(get_vector_format(facts), count_partitions(raw))
        raw.execute(migrations[found](shape).encode())
        raw.execute("UPDATE meta SET value = %s WHERE name = 'schema'", (str(found + 1),))
    return True


def count_partitions(raw: PsycopgConnection) -> int:
    """Return into how many parts the tables of a store are parted; 0: none."""
    (parts,) = raw.execute(_COUNT_PARTITIONS).fetchone() or (0,)
    return int(parts)
