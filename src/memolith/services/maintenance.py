"""Applies the effects of time: decay, expiry, cleanup, promotion, eviction, and retention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memolith.domain.memories import Action, Event, Memory, State
from memolith.domain.messages import Session
from memolith.policies import arguments
from memolith.policies.decay import DecayInputs, select_weakest
from memolith.ports.snapshot import MemoryStats
from memolith.ports.store import Snapshot, Transaction, UsageStats
from memolith.profiles.model import Profile
from memolith.services.access import Access
from memolith.services.indexing import Indexer

_MICROSECONDS_PER_DAY = 86_400_000_000.0
_SECONDS_PER_DAY = 86_400.0


def days_since(times: NDArray[np.int64], now: datetime) -> NDArray[np.float64]:
    """Return the days between each time, in microseconds since 1970, and now."""
    elapsed = now.timestamp() * 1e6 - times
    days: NDArray[np.float64] = elapsed.astype(np.float64) / _MICROSECONDS_PER_DAY
    return days


def compute_strengths(
    profile: Profile, kinds: Sequence[str], usage: UsageStats | MemoryStats, now: datetime
) -> NDArray[np.float64]:
    """Return the current strength of each memory, 0..1."""
    return profile.decay.strength(
        DecayInputs(
            kinds,
            usage.importance,
            usage.access_count,
            days_since(usage.used_at, now),
            days_since(usage.updated_at, now),
        )
    )


def refresh_strengths(profile: Profile, memories: Sequence[Memory], now: datetime) -> list[Memory]:
    """Return memories with their current strength."""
    strengths = profile.decay.strength(
        DecayInputs(
            [memory.kind for memory in memories],
            np.array([memory.importance for memory in memories], dtype=np.float64),
            np.array([memory.access_count for memory in memories], dtype=np.int64),
            _days_between(now, [memory.accessed_at or memory.created_at for memory in memories]),
            _days_between(now, [memory.updated_at for memory in memories]),
        )
    )
    return [
        replace(memory, strength=float(strength))
        for memory, strength in zip(memories, strengths, strict=True)
    ]


def _days_between(now: datetime, times: Sequence[datetime]) -> NDArray[np.float64]:
    elapsed = [(now - each).total_seconds() / _SECONDS_PER_DAY for each in times]
    return np.array(elapsed, dtype=np.float64)


# --- Effects of time


ACTIVE = frozenset({State.ACTIVE})

SESSION_IDLE_TIMEOUT = timedelta(hours=24)
"""A session without messages for this time counts as ended."""

BATCH_SIZE = 500
"""Memories changed in one transaction. A guess: some tens of milliseconds."""

_MIN_CHANGE = 1e-9
_ACTION_BY_STATE = {
    State.EXPIRED: Action.EXPIRED,
    State.FADED: Action.FADED,
    State.EVICTED: Action.EVICTED,
}


class Maintenance:
    """Applies decay, expiry, cleanup and promotion to an owner's memories."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def decay(self, owner_id: str) -> tuple[str, ...]:
        """Store the current strength of active memories; return the ids of those that got weaker.

        The result depends only on the time, not on stored strengths, so that a repeated run changes
        nothing.
        """
        now = self._access.clock.now()
        profile = self._access.get_profile(owner_id)
        with self._access.store.write(owner_id) as tx:
            stats = tx.memory_stats(states=ACTIVE)
            strengths = compute_strengths(profile, stats.kind, stats, now)
            changed = np.flatnonzero(np.abs(strengths - stats.strength) > _MIN_CHANGE)
            tx.set_strengths(
                [stats.id[row] for row in changed.tolist()], strengths[changed].tolist()
            )
            weaker = changed[strengths[changed] < stats.strength[changed]]
        return tuple(stats.id[row] for row in weaker.tolist())

    def expire(self, owner_id: str) -> tuple[str, ...]:
        """Expire the memories whose time is up; return their ids."""
        now = self._access.clock.now()
        with self._access.store.read(owner_id) as snapshot:
            stats = snapshot.memory_stats(states=ACTIVE)
        at = now.timestamp() * 1e6
        is_over = (stats.expires_at >= 0) & (stats.expires_at <= at)
        due = [stats.id[row] for row in np.flatnonzero(is_over).tolist()]
        return self._deactivate(owner_id, due, State.EXPIRED, now)

    def cleanup(
        self, owner_id: str, *, below: float | None = None, dry_run: bool = False
    ) -> tuple[str, ...]:
        """Deactivate memories below the profile's threshold; return their ids.

        Args:
            owner_id: The owner.
            below: The minimum strength; None: the profile's threshold, if any.
            dry_run: Only return the ids.
        """
        now = self._access.clock.now()
        profile = self._access.get_profile(owner_id)
        least = profile.cleanup_threshold if below is None else below
        if least is None:
            return ()
        with self._access.store.read(owner_id) as snapshot:
            stats = snapshot.memory_stats(states=ACTIVE)
        strengths = compute_strengths(profile, stats.kind, stats, now)
        due = [stats.id[row] for row in np.flatnonzero(strengths < least).tolist()]
        return tuple(due) if dry_run else self._deactivate(owner_id, due, State.FADED, now)

    def promote_transient(self, owner_id: str) -> tuple[str, ...]:
        """Give memories of a transient kind their lasting kind once their session is over.

        Returns:
            The ids of the changed memories.
        """
        now = self._access.clock.now()
        profile = self._access.get_profile(owner_id)
        if not profile.kinds_after_session:
            return ()
        with self._access.store.read(owner_id) as snapshot:
            due = _find_due_transient(snapshot, profile, now)
        return self._update_in_batches(
            owner_id, due, lambda tx, memory: _promote(tx, memory, profile.kinds_after_session, now)
        )

    def _deactivate(
        self, owner_id: str, ids: Sequence[str], state: State, now: datetime
    ) -> tuple[str, ...]:
        return self._update_in_batches(
            owner_id, ids, lambda tx, memory: deactivate(tx, memory, state, now)
        )

    def _update_in_batches(
        self, owner_id: str, ids: Sequence[str], change: Callable[[Transaction, Memory], None]
    ) -> tuple[str, ...]:
        """Change the memories that are still active, in batches; return their ids."""
        updated: list[str] = []
        for first in range(0, len(ids), BATCH_SIZE):
            with self._access.store.write(owner_id) as tx:
                for memory in tx.memories(ids[first : first + BATCH_SIZE]):
                    if memory.state is State.ACTIVE:
                        change(tx, memory)
                        updated.append(memory.id)
        return tuple(updated)


def deactivate(tx: Transaction, memory: Memory, state: State, now: datetime) -> None:
    """Deactivate a memory; it can be restored."""
    tx.amend(replace(memory, state=state, updated_at=now))
    tx.record([Event(memory.id, _ACTION_BY_STATE[state], now, "scheduler", memory.version)])


def evict(tx: Transaction, profile: Profile, now: datetime) -> tuple[str, ...]:
    """Evict the weakest memories above the profile's capacity; return their ids."""
    if profile.capacity is None:
        return ()
    stats = tx.memory_stats(states=ACTIVE)
    surplus = len(stats.id) - profile.capacity
    if surplus <= 0:
        return ()
    strengths = compute_strengths(profile, stats.kind, stats, now)
    rows = select_weakest(strengths, stats.importance, stats.created_at, surplus)
    evicted = tx.memories([stats.id[row] for row in rows.tolist()])
    for memory in evicted:
        deactivate(tx, memory, State.EVICTED, now)
    return tuple(memory.id for memory in evicted)


def _find_due_transient(snapshot: Snapshot, profile: Profile, now: datetime) -> list[str]:
    stats = snapshot.memory_stats(states=ACTIVE)
    ids = [
        id_
        for id_, kind in zip(stats.id, stats.kind, strict=True)
        if kind in profile.kinds_after_session
    ]
    sessions = {session.id: session for session in snapshot.sessions()}
    return [
        memory.id
        for memory in snapshot.memories(ids)
        if _is_session_over(sessions.get(memory.session_id or ""), memory, now)
    ]


def _is_session_over(session: Session | None, memory: Memory, now: datetime) -> bool:
    if session is None:
        return now - memory.updated_at >= SESSION_IDLE_TIMEOUT
    last = max(session.last_at, memory.created_at)
    return session.ended_at is not None or now - last >= SESSION_IDLE_TIMEOUT


def _promote(
    tx: Transaction, memory: Memory, lasting_kinds: Mapping[str, str], now: datetime
) -> None:
    kind = lasting_kinds[memory.kind]
    tx.amend(replace(memory, kind=kind, updated_at=now))
    details = {"fields": "kind", "was": memory.kind}
    tx.record([Event(memory.id, Action.UPDATED, now, "scheduler", memory.version, details)])


# --- Retention


_INACTIVE_STATES = frozenset(State) - {State.ACTIVE}
_PURGE_BATCH_SIZE = 200
"""Records removed in one transaction. A guess: some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """The records that retention has removed permanently, or would remove.

    Attributes:
        memories: The number of inactive memories.
        sessions: The number of conversations.
        messages: The number of messages in them.
        compacted: Whether the store's logs were cleared too; see `PurgeResult`.
    """

    memories: int
    sessions: int
    messages: int
    compacted: bool = True

    @property
    def removed_count(self) -> int:
        """The number of removed records."""
        return self.memories + self.messages


class Retention:
    """Removes inactive memories and conversations after the retention period."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        self._access = access
        self._indexer = indexer

    def retain(self, owner_id: str, *, days: int, dry_run: bool = False) -> RetentionResult:
        """Permanently remove memories and conversations that were inactive for the given time.

        Active memories always remain, even those learned in a removed conversation.

        Args:
            owner_id: The owner.
            days: The retention period, at least 1.
            dry_run: Only count the records.

        Raises:
            InvalidInput: `days` is less than 1.
        """
        since = self._access.clock.now() - timedelta(
            days=arguments.check_count(days, "days", minimum=1)
        )
        with self._access.store.read(owner_id) as snapshot:
            memories = _find_inactive(snapshot, since)
            sessions = [each for each in snapshot.sessions() if each.last_at < since]
        result = RetentionResult(
            len(memories), len(sessions), sum(each.messages for each in sessions)
        )
        if dry_run or not (memories or sessions):
            return result
        self._remove(owner_id, memories, sessions)
        self._indexer.clear_recent(owner_id)
        self._access.store.idempotency.forget_responses(owner_id)
        return RetentionResult(
            result.memories, result.sessions, result.messages, self._access.store.compact()
        )

    def _remove(self, owner_id: str, memories: list[str], sessions: list[Session]) -> None:
        store = self._access.store
        for first in range(0, len(memories), _PURGE_BATCH_SIZE):
            batch = memories[first : first + _PURGE_BATCH_SIZE]
            with store.write(owner_id) as tx:
                tx.purge([each.id for each in tx.memories(batch) if each.state in _INACTIVE_STATES])
        for session in sessions:
            with store.write(owner_id) as tx:
                now = {each.id: each for each in tx.sessions()}.get(session.id)
                if now is not None and now.last_at == session.last_at:
                    tx.remove_sessions([session.id])


def _find_inactive(snapshot: Snapshot, since: datetime) -> list[str]:
    """Return the ids of memories that have been inactive since the given time."""
    stats = snapshot.memory_stats(states=_INACTIVE_STATES)
    rows = np.flatnonzero(stats.updated_at < since.timestamp() * 1e6)
    return [stats.id[row] for row in rows.tolist()]
