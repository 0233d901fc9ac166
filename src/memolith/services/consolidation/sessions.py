"""Compressing the memories of old sessions: one memory stands for each session's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import Memory, Source, State
from memolith.domain.recall import Scope
from memolith.prompts.summary import SESSION
from memolith.prompts.transcripts import Spoken
from memolith.services.consolidation.staging import Consolidated, Moved, compressed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memolith.policies.condensing import Sessions
    from memolith.ports.store import IndexEntry, Snapshot
    from memolith.ports.work import Claim
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.staging import Staging
    from memolith.services.summarising import Summarising


_ROUNDS = 3
"""How often the summary of a session is made anew whose memories others change."""


@dataclass(frozen=True, slots=True)
class _Staged:
    """The summary of a session, not written yet.

    Attributes:
        session_id: The session.
        sources: What it was made of, as read.
        memory: The summary.
        entry: Its index entry.
        by_model: Whether a model wrote it.
    """

    session_id: str
    sources: Sequence[Memory]
    memory: Memory
    entry: IndexEntry
    by_model: bool


class SessionSummaries:
    """Compresses sessions."""

    def __init__(self, staging: Staging, summarising: Summarising) -> None:
        """Use these."""
        self._staging = staging
        self._access = staging.access
        self._summarising = summarising

    def oldest(
        self, owner_id: str, profile: Profile, claim: Claim | None
    ) -> Iterator[Consolidated]:
        """Compress the oldest sessions, where there are too many; yield what was made.

        All that are chosen are summarised before the first is written: with one written, the
        others might be too few to be chosen again after a failure.
        """
        rule = profile.condensing.sessions
        if rule is None:
            return
        with self._access.store.read(owner_id) as snapshot:
            sessions = self._uncompressed(snapshot, rule)
        started = {name: _began(memories) for name, memories in sessions.items()}
        staged = [
            self._staged(owner_id, profile, rule, name, sessions[name])
            for name in rule.chosen(started)
        ]
        for one in staged:
            yield self._committed(owner_id, profile, rule, one, claim)

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

    def _committed(
        self,
        owner_id: str,
        profile: Profile,
        rule: Sessions,
        staged: _Staged,
        claim: Claim | None,
    ) -> Consolidated:
        """Write a summary; one whose sources have changed meanwhile is made anew."""
        for _ in range(_ROUNDS):
            try:
                return self._written(owner_id, profile, staged, claim)
            except Moved:
                with self._access.store.write(owner_id) as tx:
                    self._staging.check(tx, claim)
                    left = self._uncompressed(tx, rule).get(staged.session_id)
                if not left:
                    raise
                staged = self._staged(owner_id, profile, rule, staged.session_id, left)
        raise Moved

    def _staged(
        self,
        owner_id: str,
        profile: Profile,
        rule: Sessions,
        session_id: str,
        memories: Sequence[Memory],
    ) -> _Staged:
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
        return _Staged(session_id, memories, memory, entry, by_model=summary.by_model)

    def _written(
        self, owner_id: str, profile: Profile, staged: _Staged, claim: Claim | None
    ) -> Consolidated:
        memory, sources = staged.memory, staged.sources
        with self._access.store.write(owner_id) as tx:
            self._staging.check(tx, claim)
            there = {each.id: each for each in tx.memories([each.id for each in sources])}
            for old in sources:
                now = there.get(old.id)
                if now is None or not _is_as_read(now, old):
                    raise Moved
                tx.amend(compressed(now, memory.created_at))
            self._staging.insert(tx, memory, staged.entry, profile, by_model=staged.by_model)
        return Consolidated("session", memory.id, len(sources), by_model=staged.by_model)


def _is_as_read(now: Memory, read: Memory) -> bool:
    return now.state is State.ACTIVE and now.version == read.version and not now.compressed


def _began(memories: Sequence[Memory]) -> int:
    first = min(memory.happened_at or memory.created_at for memory in memories)
    return int(first.timestamp() * 1e6)
