"""The claims: each change is one transaction, most one statement."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.values import micros, micros_or_none
from memolith.adapters.sql.waiting import DUE, HAS_MARKS
from memolith.adapters.sql.work import WAITS, new_token
from memolith.domain.work import Work
from memolith.ports.work import Claim

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.adapters.sql.connection import Connections, Row

_CLAIMED = (
    "SELECT 1 FROM claims AS c WHERE c.owner_id = owners.owner_id AND c.work = ?1"
    " AND (c.until IS NULL OR c.until > ?2)"
)
OWNERS = f"SELECT name FROM owners WHERE NOT EXISTS ({_CLAIMED})"
# From each owner who has something waiting to the next one: by as many steps as there are such
# owners, however many messages they have, and however many owners have nothing.
_NEXT = (
    "SELECT min(m.owner_id) FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE {HAS_MARKS} AND m.owner_id > "
)
LEARNERS = (
    f"WITH RECURSIVE waiting (owner) AS ({_NEXT} 0 UNION ALL"
    f" SELECT ({_NEXT} waiting.owner) FROM waiting WHERE waiting.owner IS NOT NULL)"
    " SELECT name FROM waiting CROSS JOIN owners ON owners.owner_id = waiting.owner"
    " WHERE EXISTS (SELECT 1 FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE m.owner_id = owners.owner_id AND {DUE}) AND NOT EXISTS ({_CLAIMED})"
)
_IS_FREE = f"SELECT 1 FROM owners WHERE owner_id = ?3 AND NOT EXISTS ({_CLAIMED})"
_TAKE = (
    "INSERT INTO claims (owner_id, work, token, until)"
    " SELECT owner_id, ?1, ?4, ?5 FROM owners WHERE owner_id = ?3"
    " ON CONFLICT (owner_id, work) DO UPDATE SET token = excluded.token, until = excluded.until"
    " WHERE claims.until <= ?2 RETURNING attempts"
)
_HELD = " WHERE owner_id = ?1 AND work = ?2 AND token = ?3 RETURNING work"
_UNPARK_MESSAGES = (
    f"UPDATE messages AS m SET marks = {WAITS}, attempts = 0, retry_at = NULL"
    f" WHERE owner_id = ? AND {HAS_MARKS} AND attempts > 0"
)


class SqlClaims:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the file."""
        self._connections = connections

    def owners(self, work: Work, *, now: datetime) -> list[str]:
        """See the port."""
        statement = LEARNERS if work is Work.LEARN else OWNERS
        with self._connections.reading() as connection:
            rows = connection.rows(statement, (work.value, micros(now)))
        return sorted(name for (name,) in rows)

    def take(self, owner_id: str, work: Work, *, now: datetime, lease_s: float) -> Claim | None:
        """See the port."""
        named = (work.value, micros(now))
        with self._connections.reading(owner_id) as reader:
            # To ask often must not keep writers waiting.
            if not reader.row(_IS_FREE, (*named, reader.owner(owner_id).number)):
                return None
        token = new_token()
        with self._connections.writing(owner_id) as connection:
            number = connection.owner(owner_id).number
            values = (*named, number, token, _later(now, lease_s))
            taken = connection.rows(_TAKE, values)
            connection.run("COMMIT")
        return Claim(owner_id, work, token, taken[0][0]) if taken else None

    def keep(self, claim: Claim, *, now: datetime, lease_s: float) -> bool:
        """See the port."""
        changed = f"UPDATE claims SET until = ?4{_HELD}"
        return bool(self._changed(changed, claim, _later(now, lease_s)))

    def release(self, claim: Claim) -> None:
        """See the port."""
        self._changed(f"DELETE FROM claims{_HELD}", claim)

    def fail(self, claim: Claim, *, retry_at: datetime | None) -> None:
        """See the port."""
        failed = f"UPDATE claims SET token = NULL, until = ?4, attempts = attempts + 1{_HELD}"
        self._changed(failed, claim, micros_or_none(retry_at))

    def unpark(self, owner_id: str) -> None:
        """See the port."""
        with self._connections.writing(owner_id) as connection:
            number = (connection.owner(owner_id, lock=True).number,)
            connection.run("DELETE FROM claims WHERE owner_id = ? AND token IS NULL", number)
            connection.run(_UNPARK_MESSAGES, number)
            connection.run("COMMIT")

    def _changed(self, statement: str, claim: Claim, *values: Any) -> list[Row]:
        with self._connections.writing(claim.owner_id) as connection:
            number = connection.owner(claim.owner_id).number
            rows = connection.rows(statement, (number, claim.work.value, claim.token, *values))
            connection.run("COMMIT")
        return rows


def _later(now: datetime, seconds: float) -> int:
    return micros(now + timedelta(seconds=seconds))
