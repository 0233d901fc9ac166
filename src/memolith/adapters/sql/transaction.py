"""What is written for one owner at once, in a store in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.snapshot import SnapshotSearch
from memolith.adapters.sql.writes import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.adapters.sql.connection import Connection
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.adapters.sql.search import IndexSearch
    from memolith.adapters.sql.spaces import EmbeddingGeneration


class SqlTransaction(SnapshotSearch, RecordWriter):
    """A `Transaction` of a store in tables. Its searches answer from the state at its begin."""

    def __init__(
        self,
        connection: Connection,
        encryption: OwnerEncryption,
        owner: OwnerRow,
        generation: EmbeddingGeneration,
        open_search: Callable[[], IndexSearch],
    ) -> None:
        """Take the writing connection, with its transaction begun."""
        SnapshotSearch.__init__(self, owner, open_search)
        RecordWriter.__init__(self, connection, encryption, owner, generation)
