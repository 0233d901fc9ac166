"""Tables of the HTTP service and the workers, for a store that only one process uses.

API keys, idempotent responses, jobs, leases and token usage.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memolith.adapters.inmemory.state import ClaimState, OwnerState, is_pending
from memolith.adapters.sql.codecs import NEVER, PENDING, create_token, hour_of
from memolith.adapters.sql.service_tables import (
    REQUEST_RETENTION,
    REQUEST_TIMEOUT,
    RESPONSE_FORGOTTEN,
)
from memolith.domain.owners import WorkKind
from memolith.errors import Conflict
from memolith.ports.service import ApiKey, ModelUsage, RequestInProgress, StoredResponse
from memolith.ports.work import JobLease, WorkLease


class InMemoryApiKeys:
    """See the port."""

    def __init__(self, check_open: Callable[[], None]) -> None:
        """Create an empty table."""
        self._lock = threading.Lock()
        self._keys: dict[bytes, ApiKey] = {}
        self._check_open = check_open

    def add(self, key: ApiKey, digest: bytes) -> None:
        """See the port."""
        self._check_open()
        with self._lock:
            if key.revoked_at is None and self._in_force(key.name):
                raise Conflict(f"an API key named {key.name!r} exists already")
            if digest in self._keys:
                raise Conflict("this API key exists already")
            self._keys[digest] = replace(key, created_at=key.created_at.astimezone(UTC))

    def find(self, digest: bytes) -> ApiKey | None:
        """See the port."""
        self._check_open()
        return self._keys.get(digest)

    def all(self) -> list[ApiKey]:
        """See the port."""
        self._check_open()
        return sorted(self._keys.values(), key=lambda key: (key.created_at, key.name))

    def revoke(self, name: str, at: datetime) -> bool:
        """See the port."""
        self._check_open()
        with self._lock:
            found = self._in_force(name)
            for digest in found:
                self._keys[digest] = replace(self._keys[digest], revoked_at=at.astimezone(UTC))
        return bool(found)

    def forget(self, owner: str) -> None:
        """Remove the keys of an erased owner."""
        with self._lock:
            self._keys = {d: key for d, key in self._keys.items() if key.owner != owner}

    def _in_force(self, name: str) -> list[bytes]:
        return [d for d, k in self._keys.items() if k.name == name and k.revoked_at is None]


# --- Idempotent responses


@dataclass(frozen=True, slots=True)
class _Request:
    request: bytes
    begun_at: datetime
    reply: StoredResponse | None = None
    is_forgotten: bool = False


class InMemoryIdempotency:
    """See the port."""

    def __init__(self, check_open: Callable[[], None], is_erased: Callable[[str], bool]) -> None:
        """Create an empty table."""
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str], _Request] = {}
        self._check_open = check_open
        self._is_erased = is_erased

    def begin(
        self, owner_id: str, key: str, request: bytes, *, now: datetime
    ) -> StoredResponse | None:
        """See the port."""
        self._check_open()
        with self._lock:
            known = self._requests.get((owner_id, key))
            if known is not None and known.begun_at > now - REQUEST_RETENTION:
                if known.request != request:
                    raise Conflict("the idempotency key was used for a different request")
                if known.is_forgotten:
                    raise Conflict(RESPONSE_FORGOTTEN)
                if known.reply is not None:
                    return known.reply
                if known.begun_at > now - REQUEST_TIMEOUT:
                    raise RequestInProgress("the request with that idempotency key is in progress")
            self._requests[owner_id, key] = _Request(request, now)
        return None

    def finish(self, owner_id: str, key: str, response: StoredResponse) -> None:
        """See the port."""
        self._check_open()
        with self._lock:
            known = self._requests.get((owner_id, key))
            if known is not None and not self._is_erased(owner_id):
                self._requests[owner_id, key] = replace(known, reply=response)

    def abandon(self, owner_id: str, key: str) -> None:
        """See the port."""
        self._check_open()
        with self._lock:
            known = self._requests.get((owner_id, key))
            if known is not None and known.reply is None and not known.is_forgotten:
                del self._requests[owner_id, key]

    def forget_responses(self, owner_id: str) -> None:
        """See the port."""
        with self._lock:
            for place, known in self._requests.items():
                if place[0] == owner_id and known.reply is not None:
                    self._requests[place] = replace(known, reply=None, is_forgotten=True)

    def forget(self, owner_id: str) -> None:
        """Remove the responses of an erased owner."""
        with self._lock:
            self._requests = {k: r for k, r in self._requests.items() if k[0] != owner_id}


# --- Jobs


_TOKEN_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Job:
    token: bytes | None = None
    until: datetime | None = None
    state: str | None = None
    ran_at: datetime | None = None

    def is_free(self, now: datetime, every_s: float) -> bool:
        """Return whether the job is due and unleased."""
        rests = self.ran_at is not None and now < self.ran_at + timedelta(seconds=every_s)
        return not rests and (self.until is None or self.until <= now)


class InMemoryJobs:
    """See the port."""

    def __init__(self) -> None:
        """Create an empty table."""
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
        """Reset all jobs."""
        with self._lock:
            self._jobs = {name: replace(job, state=None) for name, job in self._jobs.items()}

    def _change(self, lease: JobLease, change: Callable[[_Job], _Job]) -> bool:
        with self._lock:
            job = self._jobs.get(lease.name, _Job())
            if job.token != lease.token:
                return False
            self._jobs[lease.name] = change(job)
            return True


# --- Leases of work, as part of each owner's state


class InMemoryClaims:
    """See the port."""

    def __init__(
        self,
        states: dict[str, OwnerState],
        lock_owner: Callable[[str], AbstractContextManager[None]],
        check_open: Callable[[], None],
    ) -> None:
        """Use the owners' states, and a function that locks one owner."""
        self._states = states
        self._lock_owner = lock_owner
        self._check_open = check_open

    def owners(self, work: WorkKind, *, now: datetime) -> list[str]:
        """See the port."""
        self._check_open()
        return sorted(
            owner_id
            for owner_id, state in list(self._states.items())
            if _is_free(state, work, now)
            and (work is not WorkKind.LEARN or _has_pending(state, now))
        )

    def acquire(
        self, owner_id: str, work: WorkKind, *, now: datetime, lease_s: float
    ) -> WorkLease | None:
        """See the port."""
        with self._lock_owner(owner_id):
            state = self._states.get(owner_id)
            if state is None or not _is_free(state, work, now):
                return None
            before = state.claims.get(work, ClaimState())
            token = create_token()
            until = now + timedelta(seconds=lease_s)
            self._set(owner_id, work, replace(before, token=token, until=until))
            return WorkLease(owner_id, work, token, before.attempts)

    def renew(self, lease: WorkLease, *, now: datetime, lease_s: float) -> bool:
        """See the port."""
        until = now + timedelta(seconds=lease_s)
        return self._change(lease, lambda held: replace(held, until=until))

    def release(self, lease: WorkLease) -> None:
        """See the port."""
        self._change(lease, lambda _: None)

    def fail(self, lease: WorkLease, *, retry_at: datetime | None) -> None:
        """See the port."""
        self._change(lease, lambda held: ClaimState(None, retry_at, held.attempts + 1))

    def retry(self, owner_id: str) -> None:
        """See the port."""
        with self._lock_owner(owner_id):
            state = self._states.get(owner_id)
            if state is None:
                return
            held = {kind: one for kind, one in state.claims.items() if one.token is not None}
            failed = {
                id_: replace(work, marks=PENDING, attempts=0, retry_at=None)
                for id_, work in state.work.items()
                if work.attempts and _is_current(state, id_)
            }
            self._states[owner_id] = replace(state, claims=held, work=state.work | failed)

    def _change(self, lease: WorkLease, change: Callable[[ClaimState], ClaimState | None]) -> bool:
        """Change a lease if it is still valid; return whether it was."""
        with self._lock_owner(lease.owner_id):
            state = self._states.get(lease.owner_id)
            held = state.claims.get(lease.work) if state else None
            if held is None or held.token != lease.token:
                return False
            self._set(lease.owner_id, lease.work, change(held))
            return True

    def _set(self, owner_id: str, work: WorkKind, claim: ClaimState | None) -> None:
        state = self._states[owner_id]
        others = {kind: one for kind, one in state.claims.items() if kind is not work}
        claims = others if claim is None else {**others, work: claim}
        self._states[owner_id] = replace(state, claims=claims)


def _is_free(state: OwnerState, work: WorkKind, now: datetime) -> bool:
    return work not in state.claims or state.claims[work].is_free(now)


def _has_pending(state: OwnerState, now: datetime) -> bool:
    return any(
        is_pending(work, now) and _is_current(state, id_) for id_, work in state.work.items()
    )


def _is_current(state: OwnerState, message_id: str) -> bool:
    return state.items[state.messages[message_id][-1].item].valid_to == NEVER


# --- Model usage, counted in each owner's state


class InMemoryUsage:
    """See the port."""

    def __init__(
        self,
        states: dict[str, OwnerState],
        lock_owner: Callable[[str], AbstractContextManager[None]],
        check_open: Callable[[], None],
    ) -> None:
        """Use the owners' states, and a function that locks one owner."""
        self._states = states
        self._lock_owner = lock_owner
        self._check_open = check_open

    def add(self, owner_id: str, purpose: str, model_usage: ModelUsage, *, at: datetime) -> None:
        """See the port."""
        with self._lock_owner(owner_id):
            state = self._states.get(owner_id)
            if state is not None:
                place = (hour_of(at), purpose)
                usage = {**state.usage, place: state.usage.get(place, ModelUsage()) + model_usage}
                self._states[owner_id] = replace(state, usage=usage)

    def get_usage(self, owner_id: str, start: datetime) -> Mapping[str, ModelUsage]:
        """See the port."""
        self._check_open()
        found: dict[str, ModelUsage] = {}
        state = self._states.get(owner_id)
        for (hour, purpose), spent in sorted(state.usage.items()) if state else ():
            if hour >= hour_of(start):
                found[purpose] = found.get(purpose, ModelUsage()) + spent
        return found
