"""How one owner's memories stand, read without opening what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.message_reads import MessageRecords
from memolith.adapters.sql.values import unpack_id
from memolith.adapters.sql.vitals import vitals_of

if TYPE_CHECKING:
    from memolith.domain.memories import State
    from memolith.ports.upkeep import Vitals

_VITALS = (
    "SELECT id, item, kind, state, importance, strength, access_count,"
    " coalesce(accessed_at, created_at), created_at, updated_at, coalesce(expires_at, -1),"
    " coalesce(session, -1) FROM memories"
    " WHERE owner_id = ? AND state IN ({states}) ORDER BY created_at, id"
)


class Conditions(MessageRecords):
    """The part of a snapshot that tells how memories stand."""

    def vitals(self, *, states: frozenset[State]) -> Vitals:
        """See the port."""
        statement = _VITALS.format(states=", ".join("?" * len(states)) or "NULL")
        values = (self._owner, *sorted(state.value for state in states))
        rows = self._connection.rows(statement, values)
        return vitals_of([(item, unpack_id(id_), *rest) for id_, item, *rest in rows])
