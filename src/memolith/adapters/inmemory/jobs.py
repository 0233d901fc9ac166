"""The jobs of a store that only one process has."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from memolith.ports.jobs import JobLease

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

_TOKEN_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Job:
    token: bytes | None = None
    until: datetime | None = None
    state: str | None = None
    ran_at: datetime | None = None

    def is_free(self, now: datetime, every_s: float) -> bool:
        """Whether it is due, and nobody holds it."""
        rests = self.ran_at is not None and now < self.ran_at + timedelta(seconds=every_s)
        return not rests and (self.until is None or self.until <= now)


class InMemoryJobs:
    """See the port."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}

    def acquire(
        self, name: str, *, now: datetime, every_s: float, lease_s: float
    ) -> JobLease | None:
        """See the port."""
        with self._lock:
            job = self._jobs.get(name, _Job())
            if not job.is_free(now, every_s):
                return None
            token = secrets.token_bytes(_TOKEN_BYTES)
            self._jobs[name] = replace(job, token=token, until=now + timedelta(seconds=lease_s))
            return JobLease(name, token, job.state)

    def renew(self, lease: JobLease, state: str, *, now: datetime, lease_s: float) -> bool:
        """See the port."""
        until = now + timedelta(seconds=lease_s)
        return self._change(lease, lambda job: replace(job, until=until, state=state))

    def finish(self, lease: JobLease, *, now: datetime) -> bool:
        """See the port."""
        return self._change(lease, lambda _: _Job(ran_at=now))

    def release(self, lease: JobLease) -> None:
        """See the port."""
        self._change(lease, lambda job: replace(job, token=None, until=None))

    def forget_states(self) -> None:
        """Let all jobs begin anew."""
        with self._lock:
            self._jobs = {name: replace(job, state=None) for name, job in self._jobs.items()}

    def _change(self, lease: JobLease, change: Callable[[_Job], _Job]) -> bool:
        with self._lock:
            job = self._jobs.get(lease.name, _Job())
            if job.token != lease.token:
                return False
            self._jobs[lease.name] = change(job)
            return True
