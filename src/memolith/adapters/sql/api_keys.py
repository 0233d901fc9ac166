"""The keys of the service's callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.connection import ConstraintBroken
from memolith.adapters.sql.values import instant, instant_or_none, micros, micros_or_none
from memolith.errors import Conflict
from memolith.ports.api_keys import ApiKey, KeyRole

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.adapters.sql.connection import Connections, Row

_COLUMNS = "name, role, owner, created_at, revoked_at"
_ADD = f"INSERT INTO api_keys (digest, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_IN_FORCE = "SELECT 1 FROM api_keys WHERE name = ? AND revoked_at IS NULL"
_FIND = f"SELECT {_COLUMNS} FROM api_keys WHERE digest = ?"
_ALL = f"SELECT {_COLUMNS} FROM api_keys ORDER BY created_at, name"
_REVOKE = "UPDATE api_keys SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL"


class SqlApiKeys:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the tables."""
        self._connections = connections

    def add(self, key: ApiKey, digest: bytes) -> None:
        """See the port."""
        times = (micros(key.created_at), micros_or_none(key.revoked_at))
        with self._connections.writing() as connection:
            if key.revoked_at is None and connection.row(_IN_FORCE, (key.name,)):
                raise Conflict(f"there is a key {key.name!r} already")
            try:
                connection.run(_ADD, (digest, key.name, key.role.value, key.owner, *times))
            except ConstraintBroken as error:
                raise Conflict("there is such a key already") from error
            connection.run("COMMIT")

    def find(self, digest: bytes) -> ApiKey | None:
        """See the port."""
        with self._connections.reading() as connection:
            row = connection.row(_FIND, (digest,))
        return _key(row) if row else None

    def all(self) -> list[ApiKey]:
        """See the port."""
        with self._connections.reading() as connection:
            return [_key(row) for row in connection.rows(_ALL)]

    def revoke(self, name: str, at: datetime) -> bool:
        """See the port."""
        with self._connections.writing() as connection:
            revoked = connection.run(_REVOKE, (micros(at), name))
            connection.run("COMMIT")
        return bool(revoked)


def _key(row: Row) -> ApiKey:
    name, role, owner, created_at, revoked_at = row
    return ApiKey(name, KeyRole(role), owner, instant(created_at), instant_or_none(revoked_at))
