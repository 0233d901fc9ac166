"""API keys, idempotent requests, model usage, jobs and work leases in tables."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

from memolith.adapters.sql.codecs import (
    PENDING,
    OwnerEncryption,
    create_token,
    decode_usage,
    hour_of,
    instant,
    instant_or_none,
    micros,
    micros_or_none,
)
from memolith.adapters.sql.connection import Connection, Connections, ConstraintViolation, Row
from memolith.adapters.sql.erasure import has_tombstone
from memolith.adapters.sql.snapshot import IS_DUE, IS_QUEUED
from memolith.domain.owners import WorkKind
from memolith.errors import Conflict
from memolith.ports.cipher import Cipher, EncryptionContext
from memolith.ports.service import ApiKey, KeyRole, ModelUsage, RequestInProgress, StoredResponse
from memolith.ports.work import JobLease, WorkLease

_KEY_COLUMNS = "name, role, owner, created_at, revoked_at"
_ADD_KEY = f"INSERT INTO api_keys (digest, {_KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_ACTIVE_KEY = "SELECT 1 FROM api_keys WHERE name = ? AND revoked_at IS NULL"
_FIND_KEY = f"SELECT {_KEY_COLUMNS} FROM api_keys WHERE digest = ?"
_ALL_KEYS = f"SELECT {_KEY_COLUMNS} FROM api_keys ORDER BY created_at, name"
_REVOKE_KEY = "UPDATE api_keys SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL"


class SqlApiKeys:
    """See `ApiKeys`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, key: ApiKey, digest: bytes) -> None:
        """See `ApiKeys.add`."""
        timestamps = (micros(key.created_at), micros_or_none(key.revoked_at))
        with self._connections.write() as connection:
            if key.revoked_at is None and connection.row(_ACTIVE_KEY, (key.name,)):
                raise Conflict(f"an API key named {key.name!r} exists already")
            try:
                connection.run(_ADD_KEY, (digest, key.name, key.role.value, key.owner, *timestamps))
            except ConstraintViolation as error:
                raise Conflict("this API key exists already") from error
            connection.run("COMMIT")

    def find(self, digest: bytes) -> ApiKey | None:
        """See `ApiKeys.find`."""
        with self._connections.read() as connection:
            row = connection.row(_FIND_KEY, (digest,))
        return _decode_key(row) if row else None

    def all(self) -> list[ApiKey]:
        """See `ApiKeys.all`."""
        with self._connections.read() as connection:
            return [_decode_key(row) for row in connection.rows(_ALL_KEYS)]

    def revoke(self, name: str, at: datetime) -> bool:
        """See `ApiKeys.revoke`."""
        with self._connections.write() as connection:
            revoked = connection.run(_REVOKE_KEY, (micros(at), name))
            connection.run("COMMIT")
        return bool(revoked)


def _decode_key(row: Row) -> ApiKey:
    name, role, owner, created_at, revoked_at = row
    return ApiKey(name, KeyRole(role), owner, instant(created_at), instant_or_none(revoked_at))


# --- Idempotent requests


REQUEST_TIMEOUT: Final = timedelta(minutes=1)
REQUEST_RETENTION: Final = timedelta(days=1)

RESPONSE_FORGOTTEN: Final = (
    "the request with that idempotency key was completed, but its response was deleted"
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
    """See `IdempotencyStore`."""

    def __init__(self, connections: Connections, cipher: Cipher) -> None:
        """Initialise with connections, and the cipher that encrypts responses."""
        self._connections = connections
        self._cipher = cipher

    def begin(
        self, owner_id: str, key: str, request: bytes, *, now: datetime
    ) -> StoredResponse | None:
        """See `IdempotencyStore.begin`."""
        row_key, digest = (owner_id, _digest_request_key(key)), digest_request(key, request)
        with self._connections.write() as connection:
            connection.run(_FORGET_OLD_REQUESTS, (owner_id, micros(now - REQUEST_RETENTION)))
            row = connection.row(_FIND_REQUEST, row_key)
            if row is not None and bytes(row[0]) != digest:
                raise Conflict("the idempotency key was used for a different request")
            if row is not None and row[1] is not None:
                if not row[1]:
                    raise Conflict(RESPONSE_FORGOTTEN)
                return self._decode_response(owner_id, row_key[1], row)
            expired_before = micros(now - REQUEST_TIMEOUT)
            if not connection.run(_BEGIN_REQUEST, (*row_key, digest, micros(now), expired_before)):
                raise RequestInProgress("the request with that idempotency key is in progress")
            connection.run("COMMIT")
        return None

    def finish(self, owner_id: str, key: str, response: StoredResponse) -> None:
        """See `IdempotencyStore.finish`."""
        digest = _digest_request_key(key)
        with self._connections.write() as connection:
            if has_tombstone(connection, self._cipher, owner_id):
                return
            version = self._cipher.ensure_key_version(owner_id)
            plain = response.status.to_bytes(_LENGTH_BYTES, "big") + response.body
            ciphertext = self._cipher.get_owner_cipher(owner_id, version).encrypt(
                plain, _response_context(owner_id, digest)
            )
            connection.run(
                f"UPDATE idempotency SET response = ? {_WHERE_REQUEST}",
                (version.to_bytes(_LENGTH_BYTES, "big") + ciphertext, owner_id, digest),
            )
            connection.run("COMMIT")

    def abandon(self, owner_id: str, key: str) -> None:
        """See `IdempotencyStore.abandon`."""
        with self._connections.write() as connection:
            connection.run(
                f"DELETE FROM idempotency {_WHERE_REQUEST} AND response IS NULL",
                (owner_id, _digest_request_key(key)),
            )
            connection.run("COMMIT")

    def forget_responses(self, owner_id: str) -> None:
        """See `IdempotencyStore.forget_responses`."""
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
    """Return the number of an owner's stored responses that can't be decrypted.

    Responses encrypted with a later key than the owner's rows are left out. They are deleted when
    the rows are re-encrypted with that key.
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
    """Return the digest that identifies a request; guessing the request requires its key."""
    secret = blake2b(key.encode(), digest_size=32).digest()
    return blake2b(request, digest_size=16, key=secret, person=_DIGEST_PERSON).digest()


# --- Model usage


_ADD_USAGE = (
    "INSERT INTO usage (owner_id, hour, purpose, calls, input_tokens, output_tokens)"
    " SELECT owner_id, ?2, ?3, ?4, ?5, ?6 FROM owners WHERE owner_id = ?1"
    " ON CONFLICT (owner_id, hour, purpose) DO UPDATE SET calls = usage.calls + excluded.calls,"
    " input_tokens = usage.input_tokens + excluded.input_tokens,"
    " output_tokens = usage.output_tokens + excluded.output_tokens"
)
_USAGE_SINCE = (
    "SELECT purpose, CAST(sum(calls) AS BIGINT), CAST(sum(input_tokens) AS BIGINT),"
    " CAST(sum(output_tokens) AS BIGINT) FROM usage WHERE owner_id = ? AND hour >= ?"
    " GROUP BY purpose ORDER BY purpose"
)


class SqlUsageCounter:
    """See `UsageCounter`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        """See `UsageCounter.add`."""
        counts = (model_usage.calls, model_usage.input_tokens, model_usage.output_tokens)
        with self._connections.write(owner_id) as connection:
            number = connection.get_owner(owner_id).number
            connection.run(_ADD_USAGE, (number, hour_of(at), purpose, *counts))
            connection.run("COMMIT")

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        """See `UsageCounter.get_usage`."""
        with self._connections.read(owner_id) as connection:
            number = connection.get_owner(owner_id).number
            return decode_usage(connection.rows(_USAGE_SINCE, (number, hour_of(start))))


# --- Jobs: each change is one statement in its own transaction


_TOKEN_BYTES = 16
_JOB_IS_FREE = (
    "(jobs.lease_until IS NULL OR jobs.lease_until <= ?2)"
    " AND (jobs.ran_at IS NULL OR jobs.ran_at <= ?3)"
)
_JOB_IS_TAKEN = f"SELECT 1 FROM jobs WHERE name = ?1 AND NOT ({_JOB_IS_FREE})"
_ACQUIRE_JOB = (
    "INSERT INTO jobs (name, lease_token, lease_until) VALUES (?1, ?4, ?5)"
    " ON CONFLICT (name) DO UPDATE"
    " SET lease_token = excluded.lease_token, lease_until = excluded.lease_until"
    f" WHERE {_JOB_IS_FREE}"
    " RETURNING state"
)
_JOB_LEASE_HELD = "WHERE name = ? AND lease_token = ? RETURNING name"


class SqlJobs:
    """See `JobStore`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def acquire(
        self, name: str, *, now: datetime, every_s: float, lease_s: float
    ) -> JobLease | None:
        """See `JobStore.acquire`."""
        values = (name, micros(now), micros(now - timedelta(seconds=every_s)))
        with self._connections.read() as reader:  # frequent polling must not block writers
            if reader.row(_JOB_IS_TAKEN, values):
                return None
        token = secrets.token_bytes(_TOKEN_BYTES)
        until = micros(now + timedelta(seconds=lease_s))
        rows = self._run_and_commit(_ACQUIRE_JOB, (*values, token, until))
        return JobLease(name, token, rows[0][0]) if rows else None

    def renew(self, lease: JobLease, state: str, *, now: datetime, lease_s: float) -> bool:
        """See `JobStore.renew`."""
        until = micros(now + timedelta(seconds=lease_s))
        return self._change_leased_job("state = ?, lease_until = ?", (state, until), lease)

    def finish(self, lease: JobLease, *, now: datetime) -> bool:
        """See `JobStore.finish`."""
        assignments = "ran_at = ?, state = NULL, lease_token = NULL, lease_until = NULL"
        return self._change_leased_job(assignments, (micros(now),), lease)

    def release(self, lease: JobLease) -> None:
        """See `JobStore.release`."""
        self._change_leased_job("lease_token = NULL, lease_until = NULL", (), lease)

    def _change_leased_job(self, changes: str, values: Sequence[Any], lease: JobLease) -> bool:
        """Change a job if the lease is still valid; return whether it is."""
        statement = f"UPDATE jobs SET {changes} {_JOB_LEASE_HELD}"
        return bool(self._run_and_commit(statement, (*values, lease.name, lease.token)))

    def _run_and_commit(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._connections.write() as connection:
            rows = connection.rows(statement, values)
            connection.run("COMMIT")
        return rows


# --- Work leases: each change is one transaction, usually of one statement


_HAS_LEASE = (
    "SELECT 1 FROM claims AS c WHERE c.owner_id = owners.owner_id AND c.work = ?1"
    " AND (c.until IS NULL OR c.until > ?2)"
)
OWNERS_WITHOUT_LEASE = f"SELECT name FROM owners WHERE NOT EXISTS ({_HAS_LEASE})"
# Jumps from each owner with pending messages to the next. The number of steps is the number of
# such owners, regardless of the number of messages and of owners without pending messages.
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
    """See `WorkLeases`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def owners(self, work: WorkKind, *, now: datetime) -> list[str]:
        """See `WorkLeases.owners`."""
        statement = OWNERS_TO_LEARN if work is WorkKind.LEARN else OWNERS_WITHOUT_LEASE
        with self._connections.read() as connection:
            rows = connection.rows(statement, (work.value, micros(now)))
        return sorted(name for (name,) in rows)

    def acquire(
        self, owner_id: str, work: WorkKind, *, now: datetime, lease_s: float
    ) -> WorkLease | None:
        """See `WorkLeases.acquire`."""
        params = (work.value, micros(now))
        with self._connections.read(owner_id) as reader:
            # Frequent polling must not block writers.
            if not reader.row(_WORK_IS_FREE, (*params, reader.get_owner(owner_id).number)):
                return None
        token = create_token()
        with self._connections.write(owner_id) as connection:
            number = connection.get_owner(owner_id).number
            values = (*params, number, token, _lease_end(now, lease_s))
            rows = connection.rows(_ACQUIRE_WORK, values)
            connection.run("COMMIT")
        return WorkLease(owner_id, work, token, rows[0][0]) if rows else None

    def renew(self, lease: WorkLease, *, now: datetime, lease_s: float) -> bool:
        """See `WorkLeases.renew`."""
        statement = f"UPDATE claims SET until = ?4{_WORK_LEASE_HELD}"
        return bool(self._change_lease(statement, lease, _lease_end(now, lease_s)))

    def release(self, lease: WorkLease) -> None:
        """See `WorkLeases.release`."""
        self._change_lease(f"DELETE FROM claims{_WORK_LEASE_HELD}", lease)

    def fail(self, lease: WorkLease, *, retry_at: datetime | None) -> None:
        """See `WorkLeases.fail`."""
        failed = (
            f"UPDATE claims SET token = NULL, until = ?4, attempts = attempts + 1{_WORK_LEASE_HELD}"
        )
        self._change_lease(failed, lease, micros_or_none(retry_at))

    def retry(self, owner_id: str) -> None:
        """See `WorkLeases.retry`."""
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
