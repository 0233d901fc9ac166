"""Spreading a store over the machines of a Citus cluster, as `memolith db distribute` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from memolith.adapters.postgres.opening import DISTRIBUTED, lock_schema, read_facts
from memolith.adapters.postgres.places import require_table_owner, session
from memolith.adapters.postgres.schema import OWNER_TABLES, SHARED_TABLES
from memolith.adapters.postgres.upgrading import count_partitions
from memolith.errors import InvalidConfiguration, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memolith.adapters.postgres.places import DatabaseLocation


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
