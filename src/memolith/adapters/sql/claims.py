"""The claims: each change is one transaction, most one statement."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.values import micros, micros_or_none
from memolith.adapters.sql.waiting import IS_DUE, IS_QUEUED
from memolith.adapters.sql.work import PENDING, create_token
from memolith.domain.work import WorkKind
from memolith.ports.work import WorkLease

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.adapters.sql.connection import Connections, Row

_HAS_LEASE = (
    "SELECT 1 FROM claims AS c WHERE c.owner_id = owners.owner_id AND c.work = ?1"
    " AND (c.until IS NULL OR c.until > ?2)"
)
OWNERS_WITHOUT_LEASE = f"SELECT name FROM owners WHERE NOT EXISTS ({_HAS_LEASE})"
# From each owner who has something waiting to the next one: by as many steps as there are such
# owners, however many messages they have, and however many owners have nothing.
_NEXT_OWNER = (
    "SELECT min(m.owner_id) FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE {IS_QUEUED} AND m.owner_id > "
)
OWNERS_TO_LEARN = (
    f"WITH RECURSIVE waiting (owner) AS ({_NEXT_OWNER} 0 UNION ALL"
    f" SELECT ({_NEXT_OWNER} waiting.owner) FROM waiting WHERE waiting.owner IS NOT NULL)"
    " SELECT name FROM waiting CROSS JOIN owners ON owners.owner_id = waiting.owner"
    " WHERE EXISTS (SELECT 1 FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE m.owner_id = owners.owner_id AND {IS_DUE}) AND NOT EXISTS ({_HAS_LEASE})"
)
_WORK_IS_FREE = f"SELECT 1 FROM owners WHERE owner_id = ?3 AND NOT EXISTS ({_HAS_LEASE})"
_ACQUIRE_WORK = (
    "INSERT INTO claims (owner_id, work, token, until)"
    " SELECT owner_id, ?1, ?4, ?5 FROM owners WHERE owner_id = ?3"
    " ON CONFLICT (owner_id, work) DO UPDATE SET token = excluded.token, until = excluded.until"
    " WHERE claims.until <= ?2 RETURNING attempts"
)
_WORK_LEASE_HELD = " WHERE owner_id = ?1 AND work = ?2 AND token = ?3 RETURNING work"
_RETRY_MESSAGES = (
    f"UPDATE messages AS m SET marks = {PENDING}, attempts = 0, retry_at = NULL"
    f" WHERE owner_id = ? AND {IS_QUEUED} AND attempts > 0"
)


class SqlWorkLeases:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the file."""
        self._connections = connections

    def owners(self, work: WorkKind, *, now: datetime) -> list[str]:
        """See the port."""
        statement = OWNERS_TO_LEARN if work is WorkKind.LEARN else OWNERS_WITHOUT_LEASE
        with self._connections.read() as connection:
            rows = connection.rows(statement, (work.value, micros(now)))
        return sorted(name for (name,) in rows)

    def acquire(
        self, owner_id: str, work: WorkKind, *, now: datetime, lease_s: float
    ) -> WorkLease | None:
        """See the port."""
        named = (work.value, micros(now))
        with self._connections.read(owner_id) as reader:
            # To ask often must not keep writers waiting.
            if not reader.row(_WORK_IS_FREE, (*named, reader.get_owner(owner_id).number)):
                return None
        token = create_token()
        with self._connections.write(owner_id) as connection:
            number = connection.get_owner(owner_id).number
            values = (*named, number, token, _lease_end(now, lease_s))
            taken = connection.rows(_ACQUIRE_WORK, values)
            connection.run("COMMIT")
        return WorkLease(owner_id, work, token, taken[0][0]) if taken else None

    def renew(self, lease: WorkLease, *, now: datetime, lease_s: float) -> bool:
        """See the port."""
        changed = f"UPDATE claims SET until = ?4{_WORK_LEASE_HELD}"
        return bool(self._change_lease(changed, lease, _lease_end(now, lease_s)))

    def release(self, lease: WorkLease) -> None:
        """See the port."""
        self._change_lease(f"DELETE FROM claims{_WORK_LEASE_HELD}", lease)

    def fail(self, lease: WorkLease, *, retry_at: datetime | None) -> None:
        """See the port."""
        failed = (
            f"UPDATE claims SET token = NULL, until = ?4, attempts = attempts + 1{_WORK_LEASE_HELD}"
        )
        self._change_lease(failed, lease, micros_or_none(retry_at))

    def retry(self, owner_id: str) -> None:
        """See the port."""
        with self._connections.write(owner_id) as connection:
            number = (connection.get_owner(owner_id, lock=True).number,)
            connection.run("DELETE FROM claims WHERE owner_id = ? AND token IS NULL", number)
            connection.run(_RETRY_MESSAGES, number)
            connection.run("COMMIT")

    def _change_lease(self, statement: str, lease: WorkLease, *values: Any) -> list[Row]:
        with self._connections.write(lease.owner_id) as connection:
            number = connection.get_owner(lease.owner_id).number
            rows = connection.rows(statement, (number, lease.work.value, lease.token, *values))
            connection.run("COMMIT")
        return rows


def _lease_end(now: datetime, seconds: float) -> int:
    return micros(now + timedelta(seconds=seconds))
