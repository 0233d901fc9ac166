"""What was answered to requests that have a key."""

from __future__ import annotations

from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from memolith.adapters.sql.erasing import has_tombstone
from memolith.adapters.sql.values import micros
from memolith.errors import Conflict
from memolith.ports.cipher import Place
from memolith.ports.idempotency import BeingDone, Reply

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.adapters.sql.connection import Connection, Connections, Row
    from memolith.adapters.sql.sealing import Sealing
    from memolith.ports.cipher import Cipher

DONE_WITHIN: Final = timedelta(minutes=1)
KEPT: Final = timedelta(days=1)

REPLY_IS_GONE: Final = (
    "the request of that idempotency key was done; what was answered is forgotten"
)

_NUMBER_BYTES = 4
_PERSON = b"memolith idem"
_WHOSE = "WHERE scope = ? AND key_digest = ?"
_FORGET_OLD = "DELETE FROM idempotency WHERE scope = ? AND created_at <= ?"
_FIND = f"SELECT request_digest, response, created_at FROM idempotency {_WHOSE}"
_FORGET_REPLIES = "UPDATE idempotency SET response = ? WHERE scope = ? AND response IS NOT NULL"
_BEGIN = (
    "INSERT INTO idempotency (scope, key_digest, request_digest, response, created_at)"
    " VALUES (?, ?, ?, NULL, ?) ON CONFLICT (scope, key_digest) DO UPDATE"
    " SET created_at = excluded.created_at"
    " WHERE idempotency.response IS NULL AND idempotency.created_at <= ?"
)


class SqlIdempotency:
    """See the port."""

    def __init__(self, connections: Connections, cipher: Cipher) -> None:
        """Take connections to the tables, and what replies are sealed with."""
        self._connections = connections
        self._cipher = cipher

    def begin(self, owner_id: str, key: str, request: bytes, *, now: datetime) -> Reply | None:
        """See the port."""
        place, asked = (owner_id, _digest(key)), request_digest(key, request)
        with self._connections.writing() as connection:
            connection.run(_FORGET_OLD, (owner_id, micros(now - KEPT)))
            row = connection.row(_FIND, place)
            if row is not None and bytes(row[0]) != asked:
                raise Conflict("the idempotency key was used for another request")
            if row is not None and row[1] is not None:
                if not row[1]:
                    raise Conflict(REPLY_IS_GONE)
                return self._reply(owner_id, place[1], row)
            overdue = micros(now - DONE_WITHIN)
            if not connection.run(_BEGIN, (*place, asked, micros(now), overdue)):
                raise BeingDone("the request of that idempotency key is being done")
            connection.run("COMMIT")
        return None

    def finish(self, owner_id: str, key: str, reply: Reply) -> None:
        """See the port."""
        digest = _digest(key)
        with self._connections.writing() as connection:
            if has_tombstone(connection, self._cipher, owner_id):
                return
            version = self._cipher.version(owner_id)
            plain = reply.status.to_bytes(_NUMBER_BYTES, "big") + reply.body
            sealed = self._cipher.of(owner_id, version).seal(plain, _place(owner_id, digest))
            connection.run(
                f"UPDATE idempotency SET response = ? {_WHOSE}",
                (version.to_bytes(_NUMBER_BYTES, "big") + sealed, owner_id, digest),
            )
            connection.run("COMMIT")

    def abandon(self, owner_id: str, key: str) -> None:
        """See the port."""
        with self._connections.writing() as connection:
            connection.run(
                f"DELETE FROM idempotency {_WHOSE} AND response IS NULL", (owner_id, _digest(key))
            )
            connection.run("COMMIT")

    def forget_replies(self, owner_id: str) -> None:
        """See the port."""
        with self._connections.writing() as connection:
            connection.run(_FORGET_REPLIES, (b"", owner_id))
            connection.run("COMMIT")

    def _reply(self, owner_id: str, digest: bytes, row: Row) -> Reply:
        stored = bytes(row[1])
        version = int.from_bytes(stored[:_NUMBER_BYTES], "big")
        cipher = self._cipher.of(owner_id, version)
        plain = cipher.open(stored[_NUMBER_BYTES:], _place(owner_id, digest))
        return Reply(int.from_bytes(plain[:_NUMBER_BYTES], "big"), plain[_NUMBER_BYTES:])


def shut_replies(connection: Connection, sealing: Sealing, key_version: int) -> int:
    """Return how many replies that are kept for an owner do not open.

    What is sealed with a later key than the owner's rows is left out: it is forgotten when those
    are sealed with that.
    """
    rows = connection.rows(
        "SELECT key_digest, response FROM idempotency WHERE scope = ? AND length(response) > 0",
        (sealing.owner_id,),
    )
    return sum(
        int.from_bytes(stored[:_NUMBER_BYTES], "big") <= key_version
        and not sealing.opens(stored[_NUMBER_BYTES:], _place(sealing.owner_id, bytes(digest)))
        for digest, stored in rows
    )


def _place(owner_id: str, digest: bytes) -> Place:
    return Place(owner_id, f"idempotency:{digest.hex()}", "reply")


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=16, person=_PERSON).digest()


def request_digest(key: str, request: bytes) -> bytes:
    """Return by what a request is known again; who does not know its key can't guess at it."""
    secret = blake2b(key.encode(), digest_size=32).digest()
    return blake2b(request, digest_size=16, key=secret, person=_PERSON).digest()
