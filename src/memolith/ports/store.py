"""The store: the memories, messages and index of many owners.

Three protocols. A `Store` gives a `Snapshot` of one owner to read and search, and a
`Transaction` on one owner to change; they stand in modules of their own. A number, session
number or speaker number belongs to one owner and means nothing to another.

All times are timezone-aware; stores keep them to the microsecond, in UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memolith.ports.columns import (
    MAX_PARTS,
    PART_BITS,
    IndexEntry,
    Items,
    Passage,
    Postings,
    Similarities,
    UsageStats,
)
from memolith.ports.meta import StoreMeta
from memolith.ports.removal import OwnerEraser
from memolith.ports.snapshot import Snapshot
from memolith.ports.transaction import Transaction
from memolith.ports.upkeep import MemoryStats

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memolith.ports.api_keys import ApiKeys
    from memolith.ports.idempotency import IdempotencyStore
    from memolith.ports.jobs import JobStore
    from memolith.ports.usage import UsageCounter
    from memolith.ports.work import WorkLeases

__all__ = [
    "MAX_PARTS",
    "PART_BITS",
    "IndexEntry",
    "Items",
    "MemoryStats",
    "Passage",
    "Postings",
    "Similarities",
    "Snapshot",
    "Store",
    "StoreMeta",
    "Transaction",
    "UsageStats",
]


class Store(OwnerEraser, Protocol):
    """Memories of many owners. Thread-safe; several processes may have it open."""

    @property
    def meta(self) -> StoreMeta:
        """What the store says of itself."""
        ...

    @property
    def jobs(self) -> JobStore:
        """Its scheduled jobs."""
        ...

    @property
    def leases(self) -> WorkLeases:
        """Who does what is waiting for a model."""
        ...

    @property
    def usage(self) -> UsageCounter:
        """What models were asked."""
        ...

    @property
    def api_keys(self) -> ApiKeys:
        """The keys by which callers of the service are known."""
        ...

    @property
    def idempotency(self) -> IdempotencyStore:
        """What was answered to requests that have a key."""
        ...

    def read(self, owner_id: str) -> AbstractContextManager[Snapshot]:
        """Take a snapshot of one owner. Never waits for a writer.

        Raises:
            StoreUnavailable: The store can't be reached.
            StoreDamaged: The store can't be understood.
        """
        ...

    def write(self, owner_id: str) -> AbstractContextManager[Transaction]:
        """Lock one owner for writing; all or nothing is kept.

        At the end of the block what was written is durable and the owner's counter has grown
        by one, if anything was written; an error in the block undoes all of it.

        Raises:
            StoreUnavailable: Somebody else holds the lock for too long, or the disk is full.
            StoreReadOnly: The store can't be written.
            OwnerErased: The owner was erased.
        """
        ...

    def record_access(self, owner_id: str, accessed: Mapping[str, tuple[int, datetime]]) -> None:
        """Add to the access counts of memories and set when they were last recalled.

        By id: how many times more, and the latest time; an earlier one than is known does not
        count. No event, no version, no change of
        `updated_at` or of the counter. Ids that are not there are left out.
        """
        ...

    def adopt_embedder(self, name: str, dimension: int) -> None:
        """Keep which model the vectors are of, at the first use of a store.

        While there are no vectors, another may take its place.

        Raises:
            WrongEmbeddingModel: The store has vectors of another.
        """
        ...

    def expect_embedder(self, name: str, dimension: int | None) -> None:
        """Say of which model the vectors are that are asked with, and stored, from now on.

        From then on, should the store's vectors be made anew by another model (`Reembeddable`),
        this store is refused, wherever it searches or stores a vector, by `WrongEmbeddingModel`.
        `adopt_embedder` says it too. Who says nothing uses whatever there is.

        Args:
            name: The model's.
            dimension: The length of its vectors; None: not known yet.

        Raises:
            WrongEmbeddingModel: The store has adopted another.
        """
        ...

    def check_embedder(self) -> None:
        """See that the store's vectors are still of the model that was expected.

        Raises:
            WrongEmbeddingModel: They are of another since.
        """
        ...

    def owners(self) -> list[str]:
        """Return all owners' ids, sorted."""
        ...

    def close(self) -> None:
        """Let go of all that is held open. Closing twice is no error."""
        ...
