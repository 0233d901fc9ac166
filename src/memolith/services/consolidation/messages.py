"""Summaries of messages: of the oldest that have gathered, or of a conversation that has ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.domain.memories import EPISODE
from memolith.domain.messages import Role
from memolith.domain.recall import SearchFilter
from memolith.policies.echoes import strip_context
from memolith.policies.trust import resolve_origins
from memolith.prompts.summary import CASCADE_STYLE
from memolith.prompts.transcripts import build_transcript_turn
from memolith.services.consolidation.staging import (
    ConsolidationResult,
    SourcesChanged,
    message_sources,
)
from memolith.services.heard import get_outside_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memolith.domain.memories import Origin
    from memolith.domain.messages import Message
    from memolith.policies.condensing import ConversationSummaryPolicy
    from memolith.policies.triggers import Cascade
    from memolith.ports.store import Snapshot, Transaction
    from memolith.ports.work import WorkLease
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.staging import SummaryWriter
    from memolith.services.summarising import Summariser

_EXCLUDED_ROLES = frozenset({Role.TOOL, Role.SYSTEM})
"""Whose messages no summary is made of: their words are data, not what was talked about."""


@dataclass(frozen=True, slots=True)
class _MessageBatch:
    """Messages to summarise.

    Attributes:
        messages: All that the summary stands for, in order.
        told: Those that it is made of: not what tools said, nor what waits for a review, nor what
            a prompt of ours brought in.
        before: What tools and other people said shortly before.
        session_id: The conversation, where it is of one that has ended.
    """

    messages: Sequence[Message]
    readable: Sequence[Message]
    preceding: Sequence[Message]
    session_id: str | None = None


class MessageSummariser:
    """Summarises messages."""

    def __init__(self, summary_writer: SummaryWriter, summariser: Summariser) -> None:
        """Use these."""
        self._summary_writer = summary_writer
        self._access = summary_writer.access
        self._summariser = summariser

    def summarise_oldest(
        self, owner_id: str, profile: Profile, claim: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Summarise the oldest messages, where so many have no summary; yield what was made."""
        cascade = profile.consolidation.messages
        if cascade is not None:
            yield from self._summarise_all(
                owner_id, profile, claim, lambda snapshot: self._find_oldest(snapshot, cascade)
            )

    def summarise_ended_sessions(
        self, owner_id: str, profile: Profile, claim: WorkLease | None
    ) -> Iterator[ConsolidationResult]:
        """Summarise conversations that have ended and have none; yield what was made."""
        rule = profile.consolidation.conversations
        if rule is not None:
            yield from self._summarise_all(
                owner_id, profile, claim, lambda snapshot: self._find_ended(snapshot, rule)
            )

    def _summarise_all(
        self,
        owner_id: str,
        profile: Profile,
        claim: WorkLease | None,
        find_batch: Callable[[Snapshot], _MessageBatch | None],
    ) -> Iterator[ConsolidationResult]:
        """Summarise what is taken, until nothing is."""
        while True:
            with self._access.store.read(owner_id) as snapshot:
                taken = find_batch(snapshot)
            if taken is None:
                return
            if taken.readable:
                yield self._summarise(owner_id, profile, taken, claim)
            else:  # results of tools alone
                with self._access.store.write(owner_id) as tx:
                    self._mark_summarised(tx, taken, claim)

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
        let_through = (
            replace(message, content=strip_context(message.content))
            for message, number in zip(messages, numbers.tolist(), strict=True)
            if number >= 0 and message.role not in _EXCLUDED_ROLES
        )
        told = [message for message in let_through if message.content.strip()]
        return _MessageBatch(
            messages, told, get_outside_messages(snapshot, messages[0]), session_id
        )

    def _summarise(
        self, owner_id: str, profile: Profile, batch: _MessageBatch, claim: WorkLease | None
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
            self._mark_summarised(tx, batch, claim)
            self._summary_writer.insert(tx, memory, entry, profile, by_model=summary.by_model)
        return ConsolidationResult(
            "summary", memory.id, len(batch.messages), by_model=summary.by_model
        )

    def _mark_summarised(
        self, tx: Transaction, batch: _MessageBatch, claim: WorkLease | None
    ) -> None:
        """Mark what was summarised, if nobody else has, and it still says what was read."""
        self._summary_writer.check_claim(tx, claim)
        count = len(batch.messages)
        if tx.unsummarised_messages(count, session_id=batch.session_id) != list(batch.messages):
            raise SourcesChanged
        tx.mark_summarised([each.id for each in batch.messages], self._access.clock.now())


def _source_origins(batch: _MessageBatch) -> list[Origin]:
    """Return the origins of what a summary is made of."""
    told = {message.id for message in batch.readable}
    heard = [*batch.preceding, *batch.messages]
    origins = resolve_origins(message.role for message in heard)
    return [origin for message, origin in zip(heard, origins, strict=True) if message.id in told]
