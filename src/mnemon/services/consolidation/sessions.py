"""Compressing the memories of old sessions: one memory stands for each session's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mnemon.domain.memories import Memory, Source, State
from mnemon.domain.recall import Scope
from mnemon.prompts.summary import SESSION
from mnemon.prompts.transcripts import Spoken
from mnemon.services.consolidation.staging import Consolidated, Moved, compressed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemon.policies.condensing import Sessions
    from mnemon.ports.store import Snapshot
    from mnemon.ports.work import Claim
    from mnemon.profiles.model import Profile
    from mnemon.services.consolidation.staging import Staging
    from mnemon.services.summarising import Summarising


class SessionSummaries:
    """Compresses sessions."""

    def __init__(self, staging: Staging, summarising: Summarising) -> None:
        """Use these."""
        self._staging = staging
        self._access = staging.access
        self._summarising = summarising

    def oldest(self, owner_id: str, profile: Profile, claim: Claim | None) -> list[Consolidated]:
        """Compress the oldest sessions, where there are too many; return what was made."""
        rule = profile.condensing.sessions
        if rule is None:
            return []
        with self._access.store.read(owner_id) as snapshot:
            sessions = self._uncompressed(snapshot, rule)
        started = {name: _began(memories) for name, memories in sessions.items()}
        return [
            self._compressed(owner_id, profile, rule, name, sessions[name], claim)
            for name in rule.chosen(started)
        ]

    def _uncompressed(self, snapshot: Snapshot, rule: Sessions) -> dict[str, list[Memory]]:
        """Return the memories of each session that are not compressed, where any are."""
        scope = Scope(
            now=self._access.clock.now(),
            kinds=frozenset({rule.of}),
            include_compressed=True,
            include_withheld=False,
        )
        items = snapshot.items(snapshot.within(scope))
        ids = [items.record_id[row] for row in np.flatnonzero(items.session >= 0).tolist()]
        found: dict[str, list[Memory]] = {}
        for memory in snapshot.memories(ids):
            if not memory.compressed and memory.session_id is not None:
                found.setdefault(memory.session_id, []).append(memory)
        return found

    def _compressed(
        self,
        owner_id: str,
        profile: Profile,
        rule: Sessions,
        session_id: str,
        memories: Sequence[Memory],
        claim: Claim | None,
    ) -> Consolidated:
        told = [Spoken(each.content, at=each.happened_at or each.created_at) for each in memories]
        summary = self._summarising.summary(owner_id, told, SESSION)
        memory, entry = self._staging.memory(
            owner_id,
            profile,
            summary,
            rule.into,
            [Source(each.id, "memory") for each in memories],
            [each.origin for each in memories],
            session_id=session_id,
            happened_at=told[-1].at,
        )
        with self._access.store.write(owner_id) as tx:
            self._staging.check(tx, claim)
            there = {each.id: each for each in tx.memories([each.id for each in memories])}
            for old in memories:
                now = there.get(old.id)
                if now is None or not _is_as_read(now, old):
                    raise Moved
                tx.amend(compressed(now, memory.created_at))
            self._staging.insert(tx, memory, entry, profile, by_model=summary.by_model)
        return Consolidated("session", memory.id, len(memories), by_model=summary.by_model)


def _is_as_read(now: Memory, read: Memory) -> bool:
    return now.state is State.ACTIVE and now.version == read.version and not now.compressed


def _began(memories: Sequence[Memory]) -> int:
    first = min(memory.happened_at or memory.created_at for memory in memories)
    return int(first.timestamp() * 1e6)
