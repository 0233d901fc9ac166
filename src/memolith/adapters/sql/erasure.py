"""Erasing owners and recording the erasure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memolith.adapters.sql.codecs import micros
from memolith.adapters.sql.connection import Connection, Connections, OwnerRow
from memolith.adapters.sql.index import IndexCache
from memolith.adapters.sql.tables import OWNED_TABLES
from memolith.errors import OwnerErased
from memolith.ports.cipher import Cipher, SupportsKeyRotation


class OwnerErasureMixin:
    """The part of a store that erases owners."""

    _connections: Connections
    _cipher: Cipher
    _indexes: IndexCache

    def erase(self, owner_id: str, at: datetime) -> bool:
        """See `OwnerEraser.erase`."""
        with self._connections.write(owner_id) as connection:
            self._lock_owner(connection, owner_id)
            erased = erase_rows(connection, owner_id)
            connection.run(
                "INSERT INTO tombstones (digest, erased_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (self._cipher.tombstone(owner_id), micros(at)),
            )
            connection.run("COMMIT")
        self._indexes.forget_owner(erased.number)
        # Delete the key after the commit. A failure in between leaves a useless key, which another
        # `erase` removes. The reverse order could leave rows that can never be decrypted.
        if isinstance(self._cipher, SupportsKeyRotation):
            self._cipher.erase(owner_id)
        return erased.counter > 0

    def _lock_owner(self, connection: Connection, owner_id: str) -> None:
        """Lock an owner for other writers, even if the owner does not exist yet."""

    def is_erased(self, owner_id: str) -> bool:
        """See `OwnerEraser.is_erased`."""
        with self._connections.read() as connection:
            return has_tombstone(connection, self._cipher, owner_id)

    def readmit(self, owner_id: str) -> bool:
        """See `OwnerEraser.readmit`."""
        with self._connections.write() as connection:
            removed = connection.run(
                "DELETE FROM tombstones WHERE digest = ?", (self._cipher.tombstone(owner_id),)
            )
            connection.run("COMMIT")
        return bool(removed)


def refuse_erased(connection: Connection, cipher: Cipher, owner_id: str) -> None:
    """Refuse to write for an owner who was erased.

    Raises:
        OwnerErased: The owner was erased.
    """
    if has_tombstone(connection, cipher, owner_id):
        raise OwnerErased(owner_id)


def has_tombstone(connection: Connection, cipher: Cipher, owner_id: str) -> bool:
    """Return whether an owner was erased."""
    digest = cipher.tombstone(owner_id)
    return bool(connection.row("SELECT 1 FROM tombstones WHERE digest = ?", (digest,)))


def erase_rows(connection: Connection, owner_id: str) -> OwnerRow:
    """Delete all rows of an owner within a transaction; return the owner's previous row."""
    connection.run("UPDATE jobs SET state = NULL WHERE state IS NOT NULL")  # may name the owner
    owner = connection.get_owner(owner_id, lock=True)
    for statement in _statements_by_name():
        connection.run(statement, (owner_id,))
    if owner.number:
        for table in (*OWNED_TABLES, "owners"):
            connection.run(f"DELETE FROM {table} WHERE owner_id = ?", (owner.number,))
    return owner


def _statements_by_name() -> Iterable[str]:
    yield "DELETE FROM idempotency WHERE scope = ?"
    yield "DELETE FROM api_keys WHERE owner = ?"
