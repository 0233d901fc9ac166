"""What models were asked, counted by hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.work import hour_of, spent_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memolith.adapters.sql.connection import Connections
    from memolith.ports.usage import Spent

_ADD = (
    "INSERT INTO usage (owner_id, hour, purpose, calls, input_tokens, output_tokens)"
    " SELECT owner_id, ?2, ?3, ?4, ?5, ?6 FROM owners WHERE owner_id = ?1"
    " ON CONFLICT (owner_id, hour, purpose) DO UPDATE SET calls = usage.calls + excluded.calls,"
    " input_tokens = usage.input_tokens + excluded.input_tokens,"
    " output_tokens = usage.output_tokens + excluded.output_tokens"
)
_SINCE = (
    "SELECT purpose, CAST(sum(calls) AS BIGINT), CAST(sum(input_tokens) AS BIGINT),"
    " CAST(sum(output_tokens) AS BIGINT) FROM usage WHERE owner_id = ? AND hour >= ?"
    " GROUP BY purpose ORDER BY purpose"
)


class SqlUsage:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the file."""
        self._connections = connections

    def add(self, owner_id: str, purpose: str, spent: Spent, *, at: datetime) -> None:
        """See the port."""
        counts = (spent.calls, spent.input_tokens, spent.output_tokens)
        with self._connections.writing(owner_id) as connection:
            number = connection.owner(owner_id).number
            connection.run(_ADD, (number, hour_of(at), purpose, *counts))
            connection.run("COMMIT")

    def since(self, owner_id: str, start: datetime) -> Mapping[str, Spent]:
        """See the port."""
        with self._connections.reading(owner_id) as connection:
            number = connection.owner(owner_id).number
            return spent_of(connection.rows(_SINCE, (number, hour_of(start))))
