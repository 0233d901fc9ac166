"""What models were asked, counted by hour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.work import decode_usage, hour_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memolith.adapters.sql.connection import Connections
    from memolith.ports.usage import ModelUsage

_ADD_USAGE = (
    "INSERT INTO usage (owner_id, hour, purpose, calls, input_tokens, output_tokens)"
    " SELECT owner_id, ?2, ?3, ?4, ?5, ?6 FROM owners WHERE owner_id = ?1"
    " ON CONFLICT (owner_id, hour, purpose) DO UPDATE SET calls = usage.calls + excluded.calls,"
    " input_tokens = usage.input_tokens + excluded.input_tokens,"
    " output_tokens = usage.output_tokens + excluded.output_tokens"
)
_USAGE_SINCE = (
    "SELECT purpose, CAST(sum(calls) AS BIGINT), CAST(sum(input_tokens) AS BIGINT),"
    " CAST(sum(output_tokens) AS BIGINT) FROM usage WHERE owner_id = ? AND hour >= ?"
    " GROUP BY purpose ORDER BY purpose"
)


class SqlUsageCounter:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the file."""
        self._connections = connections

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        """See the port."""
        counts = (model_usage.calls, model_usage.input_tokens, model_usage.output_tokens)
        with self._connections.write(owner_id) as connection:
            number = connection.get_owner(owner_id).number
            connection.run(_ADD_USAGE, (number, hour_of(at), purpose, *counts))
            connection.run("COMMIT")

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        """See the port."""
        with self._connections.read(owner_id) as connection:
            number = connection.get_owner(owner_id).number
            return decode_usage(connection.rows(_USAGE_SINCE, (number, hour_of(start))))
