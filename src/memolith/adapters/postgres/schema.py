"""The schema that this code knows, and the migrations that lead to it: numbered, forward only.

The tables are SQLite's, with three roles and row-level security around them:

- who makes and migrates the tables owns them;
- `memolith_application` reads and writes them, one owner at a time: whose number `memolith.owner`
  holds in the transaction, and no rows at all where it holds none;
- `memolith_maintenance` sees some columns of all owners, and can do nothing. Functions run as
  it: what the application may know across owners is what they give.

Every key begins with the owner's number, so that each table can be partitioned by it, or
distributed. The number is made of the name (see `owner_number`): who knows whose rows are meant
needs to look nowhere else first.

A migration is a function from how a store stands to a script, which is run in one transaction
with the schema as the search path. It may take long, but not long locks: what is built of much
data is built by batches or `CONCURRENTLY`, by a command. `guarding` has what a new table needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from memolith.adapters.postgres.guarding import APPLICATION, MAINTENANCE
from memolith.adapters.postgres.schema_1 import schema_1_sql
from memolith.adapters.postgres.schema_2 import schema_2_sql
from memolith.adapters.sql.tables import OWNED_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.adapters.postgres.values import VectorFormat

__all__ = ["APPLICATION", "MAINTENANCE", "MIGRATIONS", "OWNER_TABLES", "PROBE_OWNERS", "SCHEMA"]

OWNER_TABLES = ("owners", *OWNED_TABLES)
"""The tables under row-level security."""

SHARED_TABLES = ("meta", "idempotency", "jobs", "api_keys", "tombstones", "probe")
"""The others."""

PROBE_OWNERS = (-1, -2)
"""The owners of two rows that tell whether it works; no name has such a number."""


@dataclass(frozen=True, slots=True)
class NewStoreOptions:
    """How a new store is to be.

    Attributes:
        partitions: Into how many parts by owner its tables are parted; 0: none.
        half_precision: Whether its vectors stand in half precision, where they are not hidden.
    """

    partitions: int = 0
    half_precision: bool = True


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """How a store is.

    Attributes:
        form: How vectors stand in its columns.
        partitions: Into how many parts its tables are parted by owner; 0: none.
    """

    vector_format: VectorFormat
    partitions: int


def owner_number(owner_id: str) -> int:
    """Return the number of an owner: 63 bits of a hash of the name.

    Two of a million owners have the same with a probability of 1 in 18 million; of a billion,
    of 1 in 18. The second is refused.
    """
    digest = blake2b(owner_id.encode(), digest_size=8, person=b"memolith owner").digest()
    return int.from_bytes(digest, "big") >> 1


MIGRATIONS: tuple[Callable[[StoreLayout], str], ...] = (schema_1_sql, schema_2_sql)
"""What the function at index n returns leads from schema n to schema n + 1."""

SCHEMA = len(MIGRATIONS)
"""The schema that this code knows."""
