"""Summaries of messages: of the oldest that have gathered, or of a conversation that has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemon.domain.memories import EPISODE
from mnemon.domain.messages import Role
from mnemon.domain.recall import Scope
from mnemon.domain.work import Progress
from mnemon.policies.trust import origin_of
from mnemon.prompts.summary import CASCADE
from mnemon.prompts.transcripts import spoken
from mnemon.services.consolidation.staging import Consolidated, Moved, sources_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mnemon.domain.messages import Message, Session
    from mnemon.policies.condensing import Conversations
    from mnemon.ports.store import Snapshot, Transaction
    from mnemon.ports.work import Claim
    from mnemon.profiles.model import Profile
    from mnemon.services.consolidation.staging import Staging
    from mnemon.services.summarising import Summarising

_UNSAID = frozenset({Role.TOOL, Role.SYSTEM})
"""Whose messages no summary is made of: their words are data, not what was talked about."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """Messages to summarise.

    Attributes:
        messages: All that the summary stands for, in order.
        told: Those that it is made of: not what tools said, nor what waits for a review.
        session_id: The conversation, where it is of one that has ended.
    """

    messages: Sequence[Message]
    told: Sequence[Message]
    session_id: str | None = None


class MessageSummaries:
    """Summarises messages."""

    def __init__(self, staging: Staging, summarising: Summarising) -> None:
        """Use these."""
        self._staging = staging
        self._access = staging.access
        self._summarising = summarising

    def gathered(self, owner_id: str, profile: Profile, claim: Claim | None) -> Consolidated | None:
        """Summarise the oldest messages, where so many have no summary; None: they are too few.

        After an import there may be thousands: one summary stands for as many as the threshold.
        """
        cascade = profile.condensing.messages
        if cascade is None:
            return None
        with self._access.store.read(owner_id) as snapshot:
            count = min(cascade.taken(snapshot.unsummarised_count()), cascade.threshold)
            messages = snapshot.unsummarised(count) if count else []
            taken = _Taken(messages, self._told(snapshot, messages))
        return self._summarised(owner_id, profile, taken, claim) if messages else None

    def ended(self, owner_id: str, profile: Profile, claim: Claim | None) -> Consolidated | None:
        """Summarise the first conversation that has ended and has none; None: there is none."""
        rule = profile.condensing.conversations
        if rule is None:
            return None
        with self._access.store.read(owner_id) as snapshot:
            taken = self._ended(snapshot, rule)
        return None if taken is None else self._summarised(owner_id, profile, taken, claim)

    def _ended(self, snapshot: Snapshot, rule: Conversations) -> _Taken | None:
        now = self._access.clock.now()
        for session in snapshot.sessions():
            if session.ended_at is not None or now - session.last_at >= rule.idle:
                messages = _new_of(snapshot, session)
                if len(messages) >= rule.least:
                    return _Taken(messages, self._told(snapshot, messages), session.id)
        return None

    def _told(self, snapshot: Snapshot, messages: Sequence[Message]) -> list[Message]:
        scope = Scope(
            now=self._access.clock.now(), kinds=frozenset({EPISODE}), include_withheld=False
        )
        numbers = snapshot.numbers([each.id for each in messages], scope)
        return [
            message
            for message, number in zip(messages, numbers.tolist(), strict=True)
            if number >= 0 and message.role not in _UNSAID
        ]

    def _summarised(
        self, owner_id: str, profile: Profile, taken: _Taken, claim: Claim | None
    ) -> Consolidated:
        if not taken.told:
            with self._access.store.write(owner_id) as tx:
                self._mark(tx, taken, claim)
            return Consolidated("summary", "", len(taken.messages), by_model=False)
        summary = self._summarising.summary(
            owner_id, [spoken(each) for each in taken.told], CASCADE
        )
        memory, entry = self._staging.memory(
            owner_id,
            profile,
            summary,
            profile.condensing.kind,
            sources_of(taken.messages),
            [origin_of(message.role) for message in taken.told],
            session_id=taken.session_id,
            happened_at=taken.messages[-1].at,
        )
        with self._access.store.write(owner_id) as tx:
            self._mark(tx, taken, claim)
            self._staging.insert(tx, memory, entry, profile, by_model=summary.by_model)
        return Consolidated("summary", memory.id, len(taken.messages), by_model=summary.by_model)

    def _mark(self, tx: Transaction, taken: _Taken, claim: Claim | None) -> None:
        """Mark what was summarised, if nobody else has, and it still says what was read."""
        self._staging.check(tx, claim)
        ids = [message.id for message in taken.messages]
        if tx.messages(ids=ids) != list(taken.messages):
            raise Moved
        now = self._access.clock.now()
        if taken.session_id is None:
            if [each.id for each in tx.unsummarised(len(ids))] != ids:
                raise Moved
        else:
            progress = tx.progress(taken.session_id)
            if progress.consolidated_to >= taken.messages[0].sequence:
                raise Moved
            last = taken.messages[-1].sequence
            tx.set_progress(taken.session_id, Progress(consolidated_to=last, at=now))
        tx.summarised(ids, now)


def _new_of(snapshot: Snapshot, session: Session) -> list[Message]:
    """Return the messages of a conversation since it was last summarised."""
    done = snapshot.progress(session.id).consolidated_to
    return snapshot.messages(session_id=session.id, after=done)
