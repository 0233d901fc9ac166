"""What models were asked, counted in a SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemon.adapters.sql.work import hour_of, spent_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from mnemon.adapters.sqlite.connections import Connections
    from mnemon.ports.usage import Spent

_ADD = (
    "INSERT INTO usage (owner_id, hour, purpose, calls, input_tokens, output_tokens)"
    " SELECT owner_id, ?2, ?3, ?4, ?5, ?6 FROM owners WHERE name = ?1"
    " ON CONFLICT (owner_id, hour, purpose) DO UPDATE SET calls = calls + excluded.calls,"
    " input_tokens = input_tokens + excluded.input_tokens,"
    " output_tokens = output_tokens + excluded.output_tokens"
)
_SINCE = (
    "SELECT purpose, sum(calls), sum(input_tokens), sum(output_tokens) FROM usage"
    " WHERE owner_id = (SELECT owner_id FROM owners WHERE name = ?) AND hour >= ?"
    " GROUP BY purpose ORDER BY purpose"
)


class SqliteUsage:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the file."""
        self._connections = connections

    def add(self, owner_id: str, purpose: str, spent: Spent, *, at: datetime) -> None:
        """See the port."""
        counts = (spent.calls, spent.input_tokens, spent.output_tokens)
        with self._connections.writing() as connection:
            connection.run(_ADD, (owner_id, hour_of(at), purpose, *counts))
            connection.run("COMMIT")

    def since(self, owner_id: str, start: datetime) -> Mapping[str, Spent]:
        """See the port."""
        with self._connections.reading() as connection:
            return spent_of(connection.rows(_SINCE, (owner_id, hour_of(start))))
