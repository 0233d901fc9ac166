"""The jobs: each change is one statement, in a transaction of its own."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.values import micros
from memolith.ports.jobs import JobLease

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.adapters.sql.connection import Connections

_TOKEN_BYTES = 16
_JOB_IS_FREE = (
    "(jobs.lease_until IS NULL OR jobs.lease_until <= ?2)"
    " AND (jobs.ran_at IS NULL OR jobs.ran_at <= ?3)"
)
_JOB_IS_TAKEN = f"SELECT 1 FROM jobs WHERE name = ?1 AND NOT ({_JOB_IS_FREE})"
_ACQUIRE_JOB = (
    "INSERT INTO jobs (name, lease_token, lease_until) VALUES (?1, ?4, ?5)"
    " ON CONFLICT (name) DO UPDATE"
    f" SET lease_token = excluded.lease_token, lease_until = excluded.lease_until WHERE {_JOB_IS_FREE}"
    " RETURNING state"
)
_JOB_LEASE_HELD = "WHERE name = ? AND lease_token = ? RETURNING name"


class SqlJobs:
    """See the port."""

    def __init__(self, connections: Connections) -> None:
        """Take connections to the file."""
        self._connections = connections

    def acquire(
        self, name: str, *, now: datetime, every_s: float, lease_s: float
    ) -> JobLease | None:
        """See the port."""
        values = (name, micros(now), micros(now - timedelta(seconds=every_s)))
        with self._connections.read() as reader:  # to ask often must not keep writers waiting
            if reader.row(_JOB_IS_TAKEN, values):
                return None
        token = secrets.token_bytes(_TOKEN_BYTES)
        until = micros(now + timedelta(seconds=lease_s))
        taken = self._run_and_commit(_ACQUIRE_JOB, (*values, token, until))
        return JobLease(name, token, taken[0][0]) if taken else None

    def renew(self, lease: JobLease, state: str, *, now: datetime, lease_s: float) -> bool:
        """See the port."""
        until = micros(now + timedelta(seconds=lease_s))
        return self._change_leased_job("state = ?, lease_until = ?", (state, until), lease)

    def finish(self, lease: JobLease, *, now: datetime) -> bool:
        """See the port."""
        done = "ran_at = ?, state = NULL, lease_token = NULL, lease_until = NULL"
        return self._change_leased_job(done, (micros(now),), lease)

    def release(self, lease: JobLease) -> None:
        """See the port."""
        self._change_leased_job("lease_token = NULL, lease_until = NULL", (), lease)

    def _change_leased_job(self, changes: str, values: Sequence[Any], lease: JobLease) -> bool:
        """Change a job, if the lease still counts; return whether it does."""
        statement = f"UPDATE jobs SET {changes} {_JOB_LEASE_HELD}"
        return bool(self._run_and_commit(statement, (*values, lease.name, lease.token)))

    def _run_and_commit(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._connections.write() as connection:
            rows = connection.rows(statement, values)
            connection.run("COMMIT")
        return rows
