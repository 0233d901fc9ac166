"""The claims of a SQLite file: each change is one transaction, most one statement."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from mnemon.adapters.sql.values import micros, micros_or_none
from mnemon.adapters.sql.work import WAITS, new_token
from mnemon.adapters.sqlite.owner_row import read_owner
from mnemon.adapters.sqlite.waiting import DUE, HAS_MARKS
from mnemon.domain.work import Work
from mnemon.ports.work import Claim

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from mnemon.adapters.sqlite.connections import Connections, Row

_CLAIMED = (
    "SELECT 1 FROM claims AS c WHERE c.owner_id = owners.owner_id AND c.work = ?1"
    " AND (c.until IS NULL OR c.until > ?2)"
)
_OWNERS = f"SELECT name FROM owners WHERE NOT EXISTS ({_CLAIMED})"
# From each owner who has something waiting to the next one: by as many steps as there are such
# owners, however many messages they have, and however many owners have nothing.
_NEXT = (
    "SELECT min(m.owner_id) FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE {HAS_MARKS} AND m.owner_id > "
)
_LEARNERS = (
    f"WITH RECURSIVE waiting (owner) AS ({_NEXT} 0 UNION ALL"
    f" SELECT ({_NEXT} waiting.owner) FROM waiting WHERE waiting.owner IS NOT NULL)"
    " SELECT name FROM waiting CROSS JOIN owners ON owners.owner_id = waiting.owner"
    " WHERE EXISTS (SELECT 1 FROM messages AS m INDEXED BY messages_waiting"
    f" WHERE m.owner_id = owners.owner_id AND {DUE}) AND NOT EXISTS ({_CLAIMED})"
)
_IS_FREE = f"SELECT 1 FROM owners WHERE name = ?3 AND NOT EXISTS ({_CLAIMED})"
_TAKE = (
    "INSERT INTO claims (owner_id, work, token, until)"
    " SELECT owner_id, ?1, ?4, ?5 FROM owners WHERE name = ?3"
    " ON CONFLICT (owner_id, work) DO UPDATE SET token = excluded.token, until = excluded.until"
    " WHERE claims.until <= ?2 RETURNING attempts"
)
_HELD = (
    " WHERE owner_id = (SELECT owner_id FROM owners WHERE name = ?1) AND work = ?2"
    " AND token = ?3 RETURNING work"
)
_UNPARK_MESSAGES = (
    f"UPDATE messages AS m SET marks = {WAITS}, attempts = 0, retry_at = NULL"
    f" WHERE owner_id = ? AND {HAS_MARKS} AND attempts > 0"
)


class SqliteClaims:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the file."""
        self._connections = connections

    def owners(self, work: Work, *, now: datetime) -> list[str]:
        """See the port."""
        statement = _LEARNERS if work is Work.LEARN else _OWNERS
        with self._connections.reading() as connection:
            rows = connection.rows(statement, (work.value, micros(now)))
        return sorted(name for (name,) in rows)

    def take(self, owner_id: str, work: Work, *, now: datetime, lease_s: float) -> Claim | None:
        """See the port."""
        values = (work.value, micros(now), owner_id)
        with self._connections.reading() as reader:  # to ask often must not keep writers waiting
            if not reader.row(_IS_FREE, values):
                return None
        token = new_token()
        taken = self._changed(_TAKE, (*values, token, _later(now, lease_s)))
        return Claim(owner_id, work, token, taken[0][0]) if taken else None

    def keep(self, claim: Claim, *, now: datetime, lease_s: float) -> bool:
        """See the port."""
        changed = f"UPDATE claims SET until = ?4{_HELD}"
        return bool(self._changed(changed, (*_named(claim), _later(now, lease_s))))

    def release(self, claim: Claim) -> None:
        """See the port."""
        self._changed(f"DELETE FROM claims{_HELD}", _named(claim))

    def fail(self, claim: Claim, *, retry_at: datetime | None) -> None:
        """See the port."""
        failed = f"UPDATE claims SET token = NULL, until = ?4, attempts = attempts + 1{_HELD}"
        self._changed(failed, (*_named(claim), micros_or_none(retry_at)))

    def unpark(self, owner_id: str) -> None:
        """See the port."""
        with self._connections.writing() as connection:
            number = (read_owner(connection, owner_id).number,)
            connection.run("DELETE FROM claims WHERE owner_id = ? AND token IS NULL", number)
            connection.run(_UNPARK_MESSAGES, number)
            connection.run("COMMIT")

    def _changed(self, statement: str, values: Sequence[Any]) -> list[Row]:
        with self._connections.writing() as connection:
            rows = connection.rows(statement, values)
            connection.run("COMMIT")
        return rows


def _later(now: datetime, seconds: float) -> int:
    return micros(now + timedelta(seconds=seconds))


def _named(claim: Claim) -> tuple[str, str, bytes]:
    return claim.owner_id, claim.work.value, claim.token
