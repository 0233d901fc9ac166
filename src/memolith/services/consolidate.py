"""Consolidates memory: summarises messages and sessions, and rewrites the base memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memolith.domain.memories import EPISODE, Action, Event, Memory, Origin, Source, State
from memolith.domain.messages import Message, Role
from memolith.domain.recall import SearchFilter
from memolith.errors import NotFound
from memolith.policies import arguments
from memolith.policies.consolidation import (
    Cascade,
    ConversationSummaryPolicy,
    SessionCompressionPolicy,
)
from memolith.policies.context_echo import strip_context
from memolith.policies.trust import resolve_origins
from memolith.ports.store import IndexEntry, Snapshot, Transaction
from memolith.ports.work import WorkLease
from memolith.profiles.model import Profile
from memolith.prompts.fencing import TranscriptTurn, build_transcript_turn
from memolith.prompts.summaries import CASCADE_STYLE, SESSION_STYLE
from memolith.services.access import Access
from memolith.services.base_memory import BaseMemoryRewriter
from memolith.services.extract import get_outside_messages
from memolith.services.summarise import (
    CONSOLIDATION_ACTOR,
    ConsolidationResult,
    SourcesChanged,
    Summariser,
    SummaryWriter,
    mark_compressed,
    message_sources,
)

_EXCLUDED_ROLES = frozenset({Role.TOOL, Role.SYSTEM})
"""Roles left out of summaries: their messages are data, not conversation."""


@dataclass(frozen=True, slots=True)
class _MessageBatch:
    """Messages to summarise.

    Attributes:
        messages: All messages that the summary covers, in order.
        readable: Those shown to the model: not tool results, quarantined messages, or injected
            context.
        preceding: Messages of tools and other people shortly before.
        session_id: The conversation, if an ended one is summarised.
    """

    messages: Sequence[Message]
    readable: Sequence[Message]
    preceding: Sequence[Message]
    session_id: str | None = None


class MessageSummariser:
    """Summarises messages by age, or by ended conversation."""

    def __init__(self, summary_writer: SummaryWriter, summariser: Summariser) -> None:
        self._summary_writer = summary_writer
        self._access = summary_writer.access
        self._summariser = summariser

    def summarise_oldest(
        self, owner_id: str, profile: Profile, lease: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Summarise the oldest messages once enough are unsummarised; yield each result."""
        cascade = profile.consolidation.messages
        if cascade is not None:
            yield from self._summarise_all(
                owner_id, profile, lease, lambda snapshot: self._find_oldest(snapshot, cascade)
            )

    def summarise_ended_sessions(
        self, owner_id: str, profile: Profile, lease: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Summarise ended conversations; yield each result."""
        rule = profile.consolidation.conversations
        if rule is not None:
            yield from self._summarise_all(
                owner_id, profile, lease, lambda snapshot: self._find_ended(snapshot, rule)
            )

    def _summarise_all(
        self,
        owner_id: str,
        profile: Profile,
        lease: WorkLease | None,
        find_batch: Callable[[Snapshot], _MessageBatch | None],
    ) -> Iterator[ConsolidationResult]:
        """Summarise batches until `find_batch` returns None."""
        while True:
            with self._access.store.read(owner_id) as snapshot:
                batch = find_batch(snapshot)
            if batch is None:
                return
            if batch.readable:
                yield self._summarise(owner_id, profile, batch, lease)
            else:  # tool results only
                with self._access.store.write(owner_id) as tx:
                    self._mark_summarised(tx, batch, lease)

    def _find_oldest(self, snapshot: Snapshot, cascade: Cascade) -> _MessageBatch | None:
        count = cascade.get_batch_size(snapshot.count_unsummarised_messages())
        return self._build_batch(snapshot, snapshot.unsummarised_messages(count)) if count else None

    def _find_ended(
        self, snapshot: Snapshot, rule: ConversationSummaryPolicy
    ) -> _MessageBatch | None:
        now = self._access.clock.now()
        new = snapshot.count_unsummarised_by_session()
        for session in snapshot.sessions():
            count = rule.batch_size(new.get(session.id, 0))
            if count and rule.is_over(session.last_at, session.ended_at, now):
                messages = snapshot.unsummarised_messages(count, session_id=session.id)
                return self._build_batch(snapshot, messages, session.id)
        return None

    def _build_batch(
        self, snapshot: Snapshot, messages: Sequence[Message], session_id: str | None = None
    ) -> _MessageBatch:
        scope = SearchFilter(
            now=self._access.clock.now(), kinds=frozenset({EPISODE}), include_quarantined=False
        )
        numbers = snapshot.item_numbers([each.id for each in messages], scope)
        allowed = (
            replace(message, content=strip_context(message.content))
            for message, number in zip(messages, numbers.tolist(), strict=True)
            if number >= 0 and message.role not in _EXCLUDED_ROLES
        )
        readable = [message for message in allowed if message.content.strip()]
        return _MessageBatch(
            messages, readable, get_outside_messages(snapshot, messages[0]), session_id
        )

    def _summarise(
        self, owner_id: str, profile: Profile, batch: _MessageBatch, lease: WorkLease | None
    ) -> ConsolidationResult:
        summary = self._summariser.summarise(
            owner_id, [build_transcript_turn(each) for each in batch.readable], CASCADE_STYLE
        )
        memory, entry = self._summary_writer.build_memory(
            owner_id,
            profile,
            summary,
            profile.consolidation.kind,
            message_sources(batch.messages),
            _source_origins(batch),
            session_id=batch.session_id,
            happened_at=batch.messages[-1].at,
        )
        with self._access.store.write(owner_id) as tx:
            self._mark_summarised(tx, batch, lease)
            self._summary_writer.insert(tx, memory, entry, profile, by_model=summary.by_model)
        return ConsolidationResult(
            "summary", memory.id, len(batch.messages), by_model=summary.by_model
        )

    def _mark_summarised(
        self, tx: Transaction, batch: _MessageBatch, lease: WorkLease | None
    ) -> None:
        """Mark a batch as summarised; raise `SourcesChanged` if its messages have changed."""
        self._summary_writer.check_lease(tx, lease)
        count = len(batch.messages)
        if tx.unsummarised_messages(count, session_id=batch.session_id) != list(batch.messages):
            raise SourcesChanged
        tx.mark_summarised([each.id for each in batch.messages], self._access.clock.now())


def _source_origins(batch: _MessageBatch) -> list[Origin]:
    """Return the origins of the messages that a summary is made of."""
    readable_ids = {message.id for message in batch.readable}
    messages = [*batch.preceding, *batch.messages]
    origins = resolve_origins(message.role for message in messages)
    return [
        origin
        for message, origin in zip(messages, origins, strict=True)
        if message.id in readable_ids
    ]


# --- Compressing sessions


_MAX_SESSION_ROUNDS = 3
"""Attempts to summarise a session whose memories change concurrently."""


@dataclass(frozen=True, slots=True)
class _StagedSummary:
    """A session's summary before it is written.

    Attributes:
        session_id: The session.
        sources: The summarised memories, as read.
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
    """Replaces the memories of old sessions by one summary for each session."""

    def __init__(self, summary_writer: SummaryWriter, summariser: Summariser) -> None:
        self._summary_writer = summary_writer
        self._access = summary_writer.access
        self._summariser = summariser

    def compress_oldest(
        self, owner_id: str, profile: Profile, lease: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Compress the oldest sessions if there are too many; yield each result.

        All chosen sessions are summarised before the first summary is written. Otherwise, after a
        failure in between, the remaining sessions might be too few to be chosen again.
        """
        rule = profile.consolidation.sessions
        if rule is None:
            return
        with self._access.store.read(owner_id) as snapshot:
            sessions = self._find_uncompressed(snapshot, rule)
        started = {name: _get_start_micros(memories) for name, memories in sessions.items()}
        staged = [
            self._stage(owner_id, profile, rule, name, sessions[name])
            for name in rule.select_sessions(started)
        ]
        for one in staged:
            yield self._commit(owner_id, profile, rule, one, lease)

    def _find_uncompressed(
        self, snapshot: Snapshot, rule: SessionCompressionPolicy
    ) -> dict[str, list[Memory]]:
        """Return the uncompressed memories of each session."""
        scope = SearchFilter(
            now=self._access.clock.now(),
            kinds=frozenset({rule.source_kind}),
            include_compressed=True,
            include_quarantined=False,
        )
        items = snapshot.items(snapshot.items_in_scope(scope))
        ids = [items.record_id[row] for row in np.flatnonzero(items.session >= 0).tolist()]
        sessions: dict[str, list[Memory]] = {}
        for memory in snapshot.memories(ids):
            if not memory.compressed and memory.session_id is not None:
                sessions.setdefault(memory.session_id, []).append(memory)
        return sessions

    def _commit(
        self,
        owner_id: str,
        profile: Profile,
        rule: SessionCompressionPolicy,
        staged: _StagedSummary,
        lease: WorkLease | None,
    ) -> ConsolidationResult:
        """Write a summary; rebuild it if its sources have changed."""
        for _ in range(_MAX_SESSION_ROUNDS):
            try:
                return self._write(owner_id, profile, staged, lease)
            except SourcesChanged:
                with self._access.store.write(owner_id) as tx:
                    self._summary_writer.check_lease(tx, lease)
                    remaining = self._find_uncompressed(tx, rule).get(staged.session_id)
                if not remaining:
                    raise
                staged = self._stage(owner_id, profile, rule, staged.session_id, remaining)
        raise SourcesChanged

    def _stage(
        self,
        owner_id: str,
        profile: Profile,
        rule: SessionCompressionPolicy,
        session_id: str,
        memories: Sequence[Memory],
    ) -> _StagedSummary:
        turns = [
            TranscriptTurn(each.content, at=each.happened_at or each.created_at)
            for each in memories
        ]
        summary = self._summariser.summarise(owner_id, turns, SESSION_STYLE)
        memory, entry = self._summary_writer.build_memory(
            owner_id,
            profile,
            summary,
            rule.target_kind,
            [Source(each.id, "memory") for each in memories],
            [each.origin for each in memories],
            session_id=session_id,
            happened_at=turns[-1].at,
        )
        return _StagedSummary(session_id, memories, memory, entry, by_model=summary.by_model)

    def _write(
        self, owner_id: str, profile: Profile, staged: _StagedSummary, lease: WorkLease | None
    ) -> ConsolidationResult:
        memory, sources = staged.memory, staged.sources
        with self._access.store.write(owner_id) as tx:
            self._summary_writer.check_lease(tx, lease)
            current = {each.id: each for each in tx.memories([each.id for each in sources])}
            for old in sources:
                stored = current.get(old.id)
                if stored is None or not _is_unchanged(stored, old):
                    raise SourcesChanged
                tx.amend(mark_compressed(stored, memory.created_at))
            self._summary_writer.insert(tx, memory, staged.entry, profile, by_model=staged.by_model)
        return ConsolidationResult("session", memory.id, len(sources), by_model=staged.by_model)


def _is_unchanged(now: Memory, read: Memory) -> bool:
    return now.state is State.ACTIVE and now.version == read.version and not now.compressed


def _get_start_micros(memories: Sequence[Memory]) -> int:
    first = min(memory.happened_at or memory.created_at for memory in memories)
    return int(first.timestamp() * 1e6)


# --- Consolidation


_MAX_STEP_ROUNDS = 3
"""Attempts at a step that conflicts with concurrent writes, before it waits for the next run."""

ShouldStop = Callable[[], bool]

ConsolidationStep = Callable[[str, "Profile", "WorkLease | None"], "Iterator[ConsolidationResult]"]

_log = logging.getLogger(__name__)


class Consolidator:
    """Runs the consolidation steps of the owner's profile."""

    def __init__(
        self,
        access: Access,
        messages: MessageSummariser,
        sessions: SessionSummariser,
        base_memory: BaseMemoryRewriter,
        *,
        has_model: bool,
    ) -> None:
        self._access = access
        self._messages = messages
        self._sessions = sessions
        self._base_memory = base_memory
        self._has_model = has_model

    def runs_automatically(self, profile: Profile) -> bool:
        """Return whether consolidation runs without being requested."""
        return self._has_model or profile.consolidation.runs_without_model

    def consolidate(
        self, owner_id: str, lease: WorkLease | None = None, should_stop: ShouldStop = lambda: False
    ) -> Iterator[ConsolidationResult]:
        """Run all due steps; yield each result once it is written.

        Args:
            owner_id: The owner.
            lease: The lease on the owner's work; None: run without a lease.
            should_stop: Called between steps; if true, the rest is left for later.

        Raises:
            Disabled: Memory is switched off.
            ServiceFailed: The model failed; earlier results remain.
        """
        self._access.check_enabled()
        profile = self._access.get_profile(owner_id)
        for step in (
            self._messages.summarise_oldest,
            self._messages.summarise_ended_sessions,
            self._sessions.compress_oldest,
            self._base_memory.rewrite,
        ):
            if not should_stop():
                yield from self._run_step(step, owner_id, profile, lease, should_stop)

    def undo(self, owner_id: str, id: str) -> Memory:
        """Undo a summary, so that its sources are recalled again; return it, now inactive.

        The sources are not summarised again. `restore` reactivates the summary.

        Raises:
            Disabled: Memory is switched off.
            InvalidInput: `id` is not a valid id.
            NotFound: There is no active summary with this id.
        """
        self._access.check_enabled()
        id_ = arguments.parse_id(id)
        now = self._access.clock.now()
        with self._access.store.write(owner_id) as tx:
            history = tx.history(id_)
            events = history.events if history else ()
            if not any(event.action is Action.CONDENSED for event in events):
                raise NotFound("summary", id_)
            (memory,) = tx.memories([id_])
            if memory.state is not State.ACTIVE:
                raise NotFound("active summary", id_)
            superseded = replace(memory, state=State.SUPERSEDED, updated_at=now)
            tx.amend(superseded)
            tx.record([Event(id_, Action.UNDONE, now, CONSOLIDATION_ACTOR, memory.version)])
        return superseded

    def _run_step(
        self,
        step: ConsolidationStep,
        owner_id: str,
        profile: Profile,
        lease: WorkLease | None,
        should_stop: ShouldStop,
    ) -> Iterator[ConsolidationResult]:
        """Run a step; start again if concurrent writes changed its sources."""
        for _ in range(_MAX_STEP_ROUNDS):
            try:
                for result in step(owner_id, profile, lease):
                    yield result
                    if should_stop():
                        return
            except SourcesChanged:
                continue
            return
        _log.info("consolidation postponed: concurrent writes changed its sources")
