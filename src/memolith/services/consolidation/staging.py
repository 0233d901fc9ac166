"""What every step of a consolidation does: stage, check, commit.

What is to be made shorter is read, and a model asked, with no lock and no transaction open. The
result is written in one transaction, if all that it stands for is still as it was read; else it is
thrown away, and the step begins anew. What a result stands for is never removed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.domain.memories import Action, Event, Link, Memory, Origin, Source
from memolith.policies.trust import get_least_trusted
from memolith.services.indexing import memory_text
from memolith.services.vitality import refresh_strengths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from memolith.domain.messages import Message
    from memolith.ports.store import IndexEntry, Transaction
    from memolith.ports.work import WorkLease
    from memolith.profiles.model import Profile
    from memolith.services.access import Access
    from memolith.services.indexing import Indexer
    from memolith.services.summarising import Summary

CONSOLIDATION_ACTOR = "consolidation"
"""Who asks, in events."""

SUMMARY_IMPORTANCE = 0.5
"""Of a summary: it stands for what was judged already, or was not worth a memory. A guess."""


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    """One thing that was made shorter.

    Attributes:
        what: "summary", "session" or "base memory".
        id: The memory that stands for the sources now; of the base memory, its version.
        sources: How many messages or memories it stands for.
        by_model: Whether a model wrote it; else its sentences were taken from the sources.
    """

    output: str
    id: str
    sources: int
    by_model: bool


class SourcesChanged(Exception):
    """No error: what was read has changed meanwhile, or somebody else does the work now."""


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """Makes the memories that stand for others."""

    access: Access
    indexer: Indexer

    def build_memory(
        self,
        owner_id: str,
        profile: Profile,
        summary: Summary,
        kind: str,
        sources: Sequence[Source],
        origins: Iterable[Origin],
        *,
        session_id: str | None,
        happened_at: datetime | None,
        key: str | None = None,
    ) -> tuple[Memory, IndexEntry]:
        """Return a memory that stands for others, as trusted as the least of them, and its entry.

        Nothing is written yet.
        """
        now = self.access.clock.now()
        lasting = profile.lifetimes.get(kind)
        memory = Memory(
            id=self.access.new_id(now),
            owner_id=owner_id,
            kind=kind,
            content=summary.text,
            created_at=now,
            updated_at=now,
            key=key,
            importance=SUMMARY_IMPORTANCE,
            happened_at=happened_at,
            expires_at=None if lasting is None else now + lasting,
            session_id=session_id,
            sources=tuple(sources),
            origin=get_least_trusted(Origin.SUMMARY, *origins),
        )
        text = memory_text(profile, memory.content, kind, key)
        (entry,) = self.indexer.build_entries([text], owner_id)
        (memory,) = refresh_strengths(profile, [memory], now)
        return memory, entry

    def check_claim(self, tx: Transaction, claim: WorkLease | None) -> None:
        """Raise `Moved` where somebody else does the work now."""
        if claim is not None and not tx.holds_lease(claim):
            raise SourcesChanged

    def insert(
        self,
        tx: Transaction,
        memory: Memory,
        entry: IndexEntry,
        profile: Profile,
        *,
        by_model: bool,
        actor: str = CONSOLIDATION_ACTOR,
    ) -> None:
        """Write a memory that stands for others, with links to them."""
        tx.adopt_profile(profile.name)
        tx.insert([(memory, entry)])
        tx.link([Link(memory.id, source.id, "summary_of") for source in memory.sources])
        how = {"by": "model" if by_model else "extract", "sources": str(len(memory.sources))}
        event = Event(memory.id, Action.CONDENSED, memory.created_at, actor, memory.version, how)
        tx.record([event])


def message_sources(messages: Sequence[Message]) -> tuple[Source, ...]:
    """Return messages as the sources of a memory."""
    return tuple(Source(each.id, "message", each.external_id) for each in messages)


def mark_compressed(memory: Memory, now: datetime) -> Memory:
    """Return a memory for which another stands from now on."""
    return replace(memory, compressed=True, updated_at=now)
