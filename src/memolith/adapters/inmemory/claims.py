"""The claims of a store that only one process has: part of each owner's state."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from memolith.adapters.inmemory.state import ClaimState, is_pending
from memolith.adapters.sql.values import NEVER
from memolith.adapters.sql.work import PENDING, create_token
from memolith.domain.work import WorkKind
from memolith.ports.work import WorkLease

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import datetime

    from memolith.adapters.inmemory.state import OwnerState


class InMemoryClaims:
    """See the port."""

    def __init__(
        self,
        states: dict[str, OwnerState],
        lock_owner: Callable[[str], AbstractContextManager[None]],
        check_open: Callable[[], None],
    ) -> None:
        """Take the owners' states, and the way to be the only one to change an owner's."""
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
        """Change a claim, if it still counts; return whether it does."""
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
