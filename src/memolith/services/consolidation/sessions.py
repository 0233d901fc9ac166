"""Compressing the memories of old sessions: one memory stands for each session's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memolith.domain.memories import Memory, Source, State
from memolith.domain.recall import SearchFilter
from memolith.prompts.summary import SESSION_STYLE
from memolith.prompts.transcripts import TranscriptTurn
from memolith.services.consolidation.staging import (
    ConsolidationResult,
    SourcesChanged,
    mark_compressed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memolith.policies.condensing import SessionCompressionPolicy
    from memolith.ports.store import IndexEntry, Snapshot
    from memolith.ports.work import WorkLease
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.staging import SummaryWriter
    from memolith.services.summarising import Summariser


_MAX_SESSION_ROUNDS = 3
"""How often the summary of a session is made anew whose memories others change."""


@dataclass(frozen=True, slots=True)
class _StagedSummary:
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


class SessionSummariser:
    """Compresses sessions."""

    def __init__(self, summary_writer: SummaryWriter, summariser: Summariser) -> None:
        """Use these."""
        self._summary_writer = summary_writer
        self._access = summary_writer.access
        self._summariser = summariser

    def compress_oldest(
        self, owner_id: str, profile: Profile, claim: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Compress the oldest sessions, where there are too many; yield what was made.

        All that are chosen are summarised before the first is written: with one written, the
        others might be too few to be chosen again after a failure.
        """
        rule = profile.consolidation.sessions
        if rule is None:
            return
        with self._access.store.read(owner_id) as snapshot:
            sessions = self._find_uncompressed(snapshot, rule)
        started = {name: _started_at(memories) for name, memories in sessions.items()}
        staged = [
            self._stage(owner_id, profile, rule, name, sessions[name])
            for name in rule.select_sessions(started)
        ]
        for one in staged:
            yield self._commit(owner_id, profile, rule, one, claim)

    def _find_uncompressed(
        self, snapshot: Snapshot, rule: SessionCompressionPolicy
    ) -> dict[str, list[Memory]]:
        """Return the memories of each session that are not compressed, where any are."""
        scope = SearchFilter(
            now=self._access.clock.now(),
            kinds=frozenset({rule.source_kind}),
            include_compressed=True,
            include_quarantined=False,
        )
        items = snapshot.items(snapshot.items_in_scope(scope))
        ids = [items.record_id[row] for row in np.flatnonzero(items.session >= 0).tolist()]
        found: dict[str, list[Memory]] = {}
        for memory in snapshot.memories(ids):
            if not memory.compressed and memory.session_id is not None:
                found.setdefault(memory.session_id, []).append(memory)
        return found

    def _commit(
        self,
        owner_id: str,
        profile: Profile,
        rule: SessionCompressionPolicy,
        staged: _StagedSummary,
        claim: WorkLease | None,
    ) -> ConsolidationResult:
        """Write a summary; one whose sources have changed meanwhile is made anew."""
        for _ in range(_MAX_SESSION_ROUNDS):
            try:
                return self._write(owner_id, profile, staged, claim)
            except SourcesChanged:
                with self._access.store.write(owner_id) as tx:
                    self._summary_writer.check_claim(tx, claim)
                    left = self._find_uncompressed(tx, rule).get(staged.session_id)
                if not left:
                    raise
                staged = self._stage(owner_id, profile, rule, staged.session_id, left)
        raise SourcesChanged

    def _stage(
        self,
        owner_id: str,
        profile: Profile,
        rule: SessionCompressionPolicy,
        session_id: str,
        memories: Sequence[Memory],
    ) -> _StagedSummary:
        told = [
            TranscriptTurn(each.content, at=each.happened_at or each.created_at)
            for each in memories
        ]
        summary = self._summariser.summarise(owner_id, told, SESSION_STYLE)
        memory, entry = self._summary_writer.build_memory(
            owner_id,
            profile,
            summary,
            rule.target_kind,
            [Source(each.id, "memory") for each in memories],
            [each.origin for each in memories],
            session_id=session_id,
            happened_at=told[-1].at,
        )
        return _StagedSummary(session_id, memories, memory, entry, by_model=summary.by_model)

    def _write(
        self, owner_id: str, profile: Profile, staged: _StagedSummary, claim: WorkLease | None
    ) -> ConsolidationResult:
        memory, sources = staged.memory, staged.sources
        with self._access.store.write(owner_id) as tx:
            self._summary_writer.check_claim(tx, claim)
            there = {each.id: each for each in tx.memories([each.id for each in sources])}
            for old in sources:
                now = there.get(old.id)
                if now is None or not _is_unchanged(now, old):
                    raise SourcesChanged
                tx.amend(mark_compressed(now, memory.created_at))
            self._summary_writer.insert(tx, memory, staged.entry, profile, by_model=staged.by_model)
        return ConsolidationResult("session", memory.id, len(sources), by_model=staged.by_model)


def _is_unchanged(now: Memory, read: Memory) -> bool:
    return now.state is State.ACTIVE and now.version == read.version and not now.compressed


def _started_at(memories: Sequence[Memory]) -> int:
    first = min(memory.happened_at or memory.created_at for memory in memories)
    return int(first.timestamp() * 1e6)
