"""What is written for one owner at once, in a store in tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.snapshot import Searching
from memolith.adapters.sql.writes import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from memolith.adapters.sql.connection import Connection
    from memolith.adapters.sql.owner_row import OwnerRow
    from memolith.adapters.sql.sealing import Sealing
    from memolith.adapters.sql.search import Search
    from memolith.adapters.sql.spaces import Space


class SqlTransaction(Searching, Writer):
    """A `Transaction` of a store in tables. Its searches answer from the state at its begin."""

    def __init__(
        self,
        connection: Connection,
        sealing: Sealing,
        owner: OwnerRow,
        space: Space,
        find: Callable[[], Search],
    ) -> None:
        """Take the writing connection, with its transaction begun."""
        Searching.__init__(self, owner, find)
        Writer.__init__(self, connection, sealing, owner, space)
