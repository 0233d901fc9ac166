"""Retention: what has been inactive for long enough goes for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import State
from memolith.policies import arguments

if TYPE_CHECKING:
    from datetime import datetime

    from memolith.domain.messages import Session
    from memolith.ports.store import Snapshot
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer

_INACTIVE_STATES = frozenset(State) - {State.ACTIVE}
_PURGE_BATCH_SIZE = 200
"""How many records go in one transaction: a guess, some tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """What a retention has removed for good, or would remove.

    Attributes:
        memories: How many memories that were no longer active.
        sessions: How many conversations.
        messages: How many messages they had.
        settled: Whether the store's own logs hold nothing of it either; see `Purged`.
    """

    memories: int
    sessions: int
    messages: int
    compacted: bool = True

    @property
    def removed_count(self) -> int:
        """How many records those are."""
        return self.memories + self.messages


class Retention:
    """Removes what is older than it is to be retained."""

    def __init__(self, access: Access, indexer: Indexer) -> None:
        """Use these."""
        self._access = access
        self._indexer = indexer

    def retain(self, owner_id: str, *, days: int, dry_run: bool = False) -> RetentionResult:
        """Remove memories not active since, and conversations in which nothing was said since.

        Active memories stay, however old, also those that were learned in such a conversation.

        Args:
            owner_id: Whose.
            days: How long things are retained, from 1.
            dry_run: Only count them.

        Raises:
            InvalidInput: `days` is less than 1.
        """
        since = self._access.clock.now() - timedelta(
            days=arguments.check_count(days, "days", minimum=1)
        )
        with self._access.store.read(owner_id) as snapshot:
            memories = _find_inactive(snapshot, since)
            sessions = [each for each in snapshot.sessions() if each.last_at < since]
        found = RetentionResult(
            len(memories), len(sessions), sum(each.messages for each in sessions)
        )
        if dry_run or not (memories or sessions):
            return found
        self._remove(owner_id, memories, sessions)
        self._indexer.clear_recent(owner_id)
        self._access.store.idempotency.forget_responses(owner_id)
        return RetentionResult(
            found.memories, found.sessions, found.messages, self._access.store.compact()
        )

    def _remove(self, owner_id: str, memories: list[str], sessions: list[Session]) -> None:
        store = self._access.store
        for first in range(0, len(memories), _PURGE_BATCH_SIZE):
            some = memories[first : first + _PURGE_BATCH_SIZE]
            with store.write(owner_id) as tx:
                tx.purge([each.id for each in tx.memories(some) if each.state in _INACTIVE_STATES])
        for session in sessions:
            with store.write(owner_id) as tx:
                now = {each.id: each for each in tx.sessions()}.get(session.id)
                if now is not None and now.last_at == session.last_at:
                    tx.remove_sessions([session.id])


def _find_inactive(snapshot: Snapshot, since: datetime) -> list[str]:
    """Return the ids of the memories that have not been active since then."""
    vitals = snapshot.memory_stats(states=_INACTIVE_STATES)
    rows = np.flatnonzero(vitals.updated_at < since.timestamp() * 1e6)
    return [vitals.id[row] for row in rows.tolist()]
