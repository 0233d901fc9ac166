"""Summaries of messages: of the oldest that have gathered, or of a conversation that has ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memolith.domain.memories import EPISODE
from memolith.domain.messages import Role
from memolith.domain.recall import Scope
from memolith.policies.echoes import without_context
from memolith.policies.trust import origins_in
from memolith.prompts.summary import CASCADE
from memolith.prompts.transcripts import spoken
from memolith.services.consolidation.staging import Consolidated, Moved, sources_of
from memolith.services.heard import heard_before

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memolith.domain.memories import Origin
    from memolith.domain.messages import Message
    from memolith.policies.condensing import Conversations
    from memolith.policies.triggers import Cascade
    from memolith.ports.store import Snapshot, Transaction
    from memolith.ports.work import Claim
    from memolith.profiles.model import Profile
    from memolith.services.consolidation.staging import Staging
    from memolith.services.summarising import Summarising

_UNSAID = frozenset({Role.TOOL, Role.SYSTEM})
"""Whose messages no summary is made of: their words are data, not what was talked about."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """Messages to summarise.

    Attributes:
        messages: All that the summary stands for, in order.
        told: Those that it is made of: not what tools said, nor what waits for a review, nor what
            a prompt of ours brought in.
        before: What tools and other people said shortly before.
        session_id: The conversation, where it is of one that has ended.
    """

    messages: Sequence[Message]
    told: Sequence[Message]
    before: Sequence[Message]
    session_id: str | None = None


class MessageSummaries:
    """Summarises messages."""

    def __init__(self, staging: Staging, summarising: Summarising) -> None:
        """Use these."""
        self._staging = staging
        self._access = staging.access
        self._summarising = summarising

    def gathered(
        self, owner_id: str, profile: Profile, claim: Claim | None
    ) -> Iterator[Consolidated]:
        """Summarise the oldest messages, where so many have no summary; yield what was made."""
        cascade = profile.condensing.messages
        if cascade is not None:
            yield from self._made(
                owner_id, profile, claim, lambda snapshot: self._oldest(snapshot, cascade)
            )

    def ended(self, owner_id: str, profile: Profile, claim: Claim | None) -> Iterator[Consolidated]:
        """Summarise conversations that have ended and have none; yield what was made."""
        rule = profile.condensing.conversations
        if rule is not None:
            yield from self._made(
                owner_id, profile, claim, lambda snapshot: self._over(snapshot, rule)
            )

    def _made(
        self,
        owner_id: str,
        profile: Profile,
        claim: Claim | None,
        take: Callable[[Snapshot], _Taken | None],
    ) -> Iterator[Consolidated]:
        """Summarise what is taken, until nothing is."""
        while True:
            with self._access.store.read(owner_id) as snapshot:
                taken = take(snapshot)
            if taken is None:
                return
            if taken.told:
                yield self._summarised(owner_id, profile, taken, claim)
            else:  # results of tools alone
                with self._access.store.write(owner_id) as tx:
                    self._mark(tx, taken, claim)

    def _oldest(self, snapshot: Snapshot, cascade: Cascade) -> _Taken | None:
        count = cascade.portion(snapshot.unsummarised_count())
        return self._taken(snapshot, snapshot.unsummarised(count)) if count else None

    def _over(self, snapshot: Snapshot, rule: Conversations) -> _Taken | None:
        now = self._access.clock.now()
        new = snapshot.unsummarised_by_session()
        for session in snapshot.sessions():
            count = rule.taken(new.get(session.id, 0))
            if count and rule.is_over(session.last_at, session.ended_at, now):
                messages = snapshot.unsummarised(count, session_id=session.id)
                return self._taken(snapshot, messages, session.id)
        return None

    def _taken(
        self, snapshot: Snapshot, messages: Sequence[Message], session_id: str | None = None
    ) -> _Taken:
        scope = Scope(
            now=self._access.clock.now(), kinds=frozenset({EPISODE}), include_withheld=False
        )
        numbers = snapshot.numbers([each.id for each in messages], scope)
        let_through = (
            replace(message, content=without_context(message.content))
            for message, number in zip(messages, numbers.tolist(), strict=True)
            if number >= 0 and message.role not in _UNSAID
        )
        told = [message for message in let_through if message.content.strip()]
        return _Taken(messages, told, heard_before(snapshot, messages[0]), session_id)

    def _summarised(
        self, owner_id: str, profile: Profile, taken: _Taken, claim: Claim | None
    ) -> Consolidated:
        summary = self._summarising.summary(
            owner_id, [spoken(each) for each in taken.told], CASCADE
        )
        memory, entry = self._staging.memory(
            owner_id,
            profile,
            summary,
            profile.condensing.kind,
            sources_of(taken.messages),
            _origins(taken),
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
        count = len(taken.messages)
        if tx.unsummarised(count, session_id=taken.session_id) != list(taken.messages):
            raise Moved
        tx.summarised([each.id for each in taken.messages], self._access.clock.now())


def _origins(taken: _Taken) -> list[Origin]:
    """Return the origins of what a summary is made of."""
    told = {message.id for message in taken.told}
    heard = [*taken.before, *taken.messages]
    origins = origins_in(message.role for message in heard)
    return [origin for message, origin in zip(heard, origins, strict=True) if message.id in told]
