"""How one owner's memories stand, read without opening what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.message_reads import MessageReader
from memolith.adapters.sql.values import unpack_id
from memolith.adapters.sql.vitals import decode_memory_stats

if TYPE_CHECKING:
    from memolith.domain.memories import State
    from memolith.ports.upkeep import MemoryStats

_MEMORY_STATS = (
    "SELECT id, item, kind, state, importance, strength, access_count,"
    " coalesce(accessed_at, created_at), created_at, updated_at, coalesce(expires_at, -1),"
    " coalesce(session, -1) FROM memories"
    " WHERE owner_id = ? AND state IN ({states}) ORDER BY created_at, id"
)


class MemoryStatsReader(MessageReader):
    """The part of a snapshot that tells how memories stand."""

    def memory_stats(self, *, states: frozenset[State]) -> MemoryStats:
        """See the port."""
        statement = _MEMORY_STATS.format(states=", ".join("?" * len(states)) or "NULL")
        values = (self._owner, *sorted(state.value for state in states))
        rows = self._connection.rows(statement, values)
        return decode_memory_stats([(item, unpack_id(id_), *rest) for id_, item, *rest in rows])
