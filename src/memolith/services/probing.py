"""Looking whether what the memory stands on is there, for servers that say if they are ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from memolith.domain.work import WorkKind
from memolith.errors import StoreDamaged, StoreTooNew

if TYPE_CHECKING:
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer

_PROBE_JOB: Final = "probe"


class HealthProbe:
    """Looks. Each of its methods passes where all is well, and raises what is wrong."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Look at these."""
        self._access = access
        self._indexer = indexer
        self._schema = access.store.meta.schema

    def check_read(self) -> None:
        """Read the store: it is there, and its tables are still those that it was opened with.

        Raises:
            StoreUnavailable: It can't be reached.
            StoreTooNew: A newer Memolith has upgraded it since.
            StoreDamaged: It is another store now.
        """
        found = self._access.store.meta.schema
        if found > self._schema:
            raise StoreTooNew(found, self._schema)
        if found != self._schema:
            raise StoreDamaged(f"the store has schema {found}, and had {self._schema}")

    def check_write(self) -> None:
        """Write to the store, and wait until it is kept; nothing of it is left that counts.

        Where another process does so at that moment, that is enough.

        Raises:
            StoreUnavailable: It can't be reached, stays locked, or the disk is full.
            StoreReadOnly: It can't be written.
        """
        now = self._access.clock.now()
        self._access.store.jobs.acquire(_PROBE_JOB, now=now, every_s=0.0, lease_s=0.0)

    def count_pending_owners(self) -> int:
        """Return how many owners have something that a model is to learn from, and is due.

        Raises:
            StoreUnavailable: The store can't be reached.
        """
        now = self._access.clock.now()
        return len(self._access.store.leases.owners(WorkKind.LEARN, now=now))

    def check_embedder(self) -> None:
        """Embed a word by the model that the store's vectors are of.

        Raises:
            ServiceFailed: The model, or its service, does not answer as it should.
            WrongEmbeddingModel: The store's vectors are of another since.
        """
        self._indexer.probe()
