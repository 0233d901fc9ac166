"""The keys of the service's callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memolith.adapters.sql.connection import ConstraintViolation
from memolith.adapters.sql.values import instant, instant_or_none, micros, micros_or_none
from memolith.errors import Conflict
from memolith.ports.api_keys import ApiKey, KeyRole

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.adapters.sql.connection import Connections, Row

_KEY_COLUMNS = "name, role, owner, created_at, revoked_at"
_ADD_KEY = f"INSERT INTO api_keys (digest, {_KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_ACTIVE_KEY = "SELECT 1 FROM api_keys WHERE name = ? AND revoked_at IS NULL"
_FIND_KEY = f"SELECT {_KEY_COLUMNS} FROM api_keys WHERE digest = ?"
_ALL_KEYS = f"SELECT {_KEY_COLUMNS} FROM api_keys ORDER BY created_at, name"
_REVOKE_KEY = "UPDATE api_keys SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL"


class SqlApiKeys:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the tables."""
        self._connections = connections

    def add(self, key: ApiKey, digest: bytes) -> None:
        """See the port."""
        times = (micros(key.created_at), micros_or_none(key.revoked_at))
        with self._connections.write() as connection:
            if key.revoked_at is None and connection.row(_ACTIVE_KEY, (key.name,)):
                raise Conflict(f"there is a key {key.name!r} already")
            try:
                connection.run(_ADD_KEY, (digest, key.name, key.role.value, key.owner, *times))
            except ConstraintViolation as error:
                raise Conflict("there is such a key already") from error
            connection.run("COMMIT")

    def find(self, digest: bytes) -> ApiKey | None:
        """See the port."""
        with self._connections.read() as connection:
            row = connection.row(_FIND_KEY, (digest,))
        return _decode_key(row) if row else None

    def all(self) -> list[ApiKey]:
        """See the port."""
        with self._connections.read() as connection:
            return [_decode_key(row) for row in connection.rows(_ALL_KEYS)]

    def revoke(self, name: str, at: datetime) -> bool:
        """See the port."""
        with self._connections.write() as connection:
            revoked = connection.run(_REVOKE_KEY, (micros(at), name))
            connection.run("COMMIT")
        return bool(revoked)


def _decode_key(row: Row) -> ApiKey:
    name, role, owner, created_at, revoked_at = row
    return ApiKey(name, KeyRole(role), owner, instant(created_at), instant_or_none(revoked_at))
