"""What was answered to requests that have a key."""

from __future__ import annotations

from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from memolith.adapters.sql.erasing import has_tombstone
from memolith.adapters.sql.values import micros
from memolith.errors import Conflict
from memolith.ports.cipher import EncryptionContext
from memolith.ports.idempotency import RequestInProgress, StoredResponse

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.adapters.sql.connection import Connection, Connections, Row
    from memolith.adapters.sql.sealing import OwnerEncryption
    from memolith.ports.cipher import Cipher

REQUEST_TIMEOUT: Final = timedelta(minutes=1)
REQUEST_RETENTION: Final = timedelta(days=1)

RESPONSE_FORGOTTEN: Final = (
    "the request of that idempotency key was done; what was answered is forgotten"
)

_LENGTH_BYTES = 4
_DIGEST_PERSON = b"memolith idem"
_WHERE_REQUEST = "WHERE scope = ? AND key_digest = ?"
_FORGET_OLD_REQUESTS = "DELETE FROM idempotency WHERE scope = ? AND created_at <= ?"
_FIND_REQUEST = f"SELECT request_digest, response, created_at FROM idempotency {_WHERE_REQUEST}"
_FORGET_RESPONSES = "UPDATE idempotency SET response = ? WHERE scope = ? AND response IS NOT NULL"
_BEGIN_REQUEST = (
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

    def begin(
        self, owner_id: str, key: str, request: bytes, *, now: datetime
    ) -> StoredResponse | None:
        """See the port."""
        place, asked = (owner_id, _digest_request_key(key)), digest_request(key, request)
        with self._connections.write() as connection:
            connection.run(_FORGET_OLD_REQUESTS, (owner_id, micros(now - REQUEST_RETENTION)))
            row = connection.row(_FIND_REQUEST, place)
            if row is not None and bytes(row[0]) != asked:
                raise Conflict("the idempotency key was used for another request")
            if row is not None and row[1] is not None:
                if not row[1]:
                    raise Conflict(RESPONSE_FORGOTTEN)
                return self._decode_response(owner_id, place[1], row)
            overdue = micros(now - REQUEST_TIMEOUT)
            if not connection.run(_BEGIN_REQUEST, (*place, asked, micros(now), overdue)):
                raise RequestInProgress("the request of that idempotency key is being done")
            connection.run("COMMIT")
        return None

    def finish(self, owner_id: str, key: str, response: StoredResponse) -> None:
        """See the port."""
        digest = _digest_request_key(key)
        with self._connections.write() as connection:
            if has_tombstone(connection, self._cipher, owner_id):
                return
            version = self._cipher.ensure_key_version(owner_id)
            plain = response.status.to_bytes(_LENGTH_BYTES, "big") + response.body
            sealed = self._cipher.get_owner_cipher(owner_id, version).encrypt(
                plain, _response_context(owner_id, digest)
            )
            connection.run(
                f"UPDATE idempotency SET response = ? {_WHERE_REQUEST}",
                (version.to_bytes(_LENGTH_BYTES, "big") + sealed, owner_id, digest),
            )
            connection.run("COMMIT")

    def abandon(self, owner_id: str, key: str) -> None:
        """See the port."""
        with self._connections.write() as connection:
            connection.run(
                f"DELETE FROM idempotency {_WHERE_REQUEST} AND response IS NULL",
                (owner_id, _digest_request_key(key)),
            )
            connection.run("COMMIT")

    def forget_responses(self, owner_id: str) -> None:
        """See the port."""
        with self._connections.write() as connection:
            connection.run(_FORGET_RESPONSES, (b"", owner_id))
            connection.run("COMMIT")

    def _decode_response(self, owner_id: str, digest: bytes, row: Row) -> StoredResponse:
        stored = bytes(row[1])
        version = int.from_bytes(stored[:_LENGTH_BYTES], "big")
        cipher = self._cipher.get_owner_cipher(owner_id, version)
        plain = cipher.decrypt(stored[_LENGTH_BYTES:], _response_context(owner_id, digest))
        return StoredResponse(int.from_bytes(plain[:_LENGTH_BYTES], "big"), plain[_LENGTH_BYTES:])


def count_unreadable_responses(
    connection: Connection, encryption: OwnerEncryption, key_version: int
) -> int:
    """Return how many replies that are kept for an owner do not open.

    What is sealed with a later key than the owner's rows is left out: it is forgotten when those
    are sealed with that.
    """
    rows = connection.rows(
        "SELECT key_digest, response FROM idempotency WHERE scope = ? AND length(response) > 0",
        (encryption.owner_id,),
    )
    return sum(
        int.from_bytes(stored[:_LENGTH_BYTES], "big") <= key_version
        and not encryption.can_decrypt(
            stored[_LENGTH_BYTES:], _response_context(encryption.owner_id, bytes(digest))
        )
        for digest, stored in rows
    )


def _response_context(owner_id: str, digest: bytes) -> EncryptionContext:
    return EncryptionContext(owner_id, f"idempotency:{digest.hex()}", "reply")


def _digest_request_key(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=16, person=_DIGEST_PERSON).digest()


def digest_request(key: str, request: bytes) -> bytes:
    """Return by what a request is known again; who does not know its key can't guess at it."""
    secret = blake2b(key.encode(), digest_size=32).digest()
    return blake2b(request, digest_size=16, key=secret, person=_DIGEST_PERSON).digest()
