"""What of one owner is still to be done."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memolith.adapters.inmemory.reads import Records
from memolith.adapters.inmemory.state import MessageWork, is_due
from memolith.adapters.sql.values import NEVER, instant
from memolith.adapters.sql.work import PARKED, WAITS
from memolith.domain.memories import State
from memolith.domain.work import Backlog, Progress, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from memolith.domain.memories import Memory
    from memolith.domain.messages import Message
    from memolith.domain.work import Mark


class Waiting(Records):
    """The part of a snapshot that tells what is still to be done."""

    def awaiting(self, limit: int, *, now: datetime) -> list[Message]:
        """See the port."""
        return [said for said, work in self._standing() if is_due(work, now)][:limit]

    def attempts(self, ids: Sequence[str]) -> int:
        """See the port."""
        counts = [work.attempts for said, work in self._standing() if said.id in set(ids)]
        return max(counts, default=0)

    def unsummarised(
        self, limit: int | None = None, *, session_id: str | None = None
    ) -> list[Message]:
        """See the port."""
        found = (said for said, work in self._standing() if work.summarised_at is None)
        return [said for said in found if session_id in (None, said.session_id)][:limit]

    def unsummarised_count(self) -> int:
        """See the port."""
        return len(self.unsummarised())

    def unsummarised_by_session(self) -> dict[str, int]:
        """See the port."""
        return dict(Counter(said.session_id for said in self.unsummarised()))

    def unmarked(self, mark: Mark, kinds: frozenset[str]) -> list[Memory]:
        """See the port."""
        found = [
            memory
            for memory in self._all()
            if memory.state is State.ACTIVE
            and memory.kind in kinds
            and mark not in self._state.marks.get(memory.id, type(mark)(0))
        ]
        return sorted(found, key=lambda memory: (memory.created_at, memory.id))

    def progress(self, session_id: str) -> Progress:
        """See the port."""
        session = self._state.sessions.get(session_id)
        return session.progress if session else Progress()

    def backlog(self) -> Backlog:
        """See the port."""
        waiting = [said for said, work in self._standing() if work.marks == WAITS]
        claims = self._state.claims.items()
        return Backlog(
            waiting=len(waiting),
            parked=sum(work.marks == PARKED for _, work in self._standing()),
            oldest=self._stored_at(waiting[0].id) if waiting else None,
            stuck=tuple(
                sorted(kind for kind, one in claims if one.is_parked and kind is not Work.LEARN)
            ),
        )

    def _standing(self) -> Iterator[tuple[Message, MessageWork]]:
        """Yield the valid messages in the order stored, and what is still to be done with each."""
        for id_, versions in self._state.messages.items():
            if self._state.items[versions[-1].item].valid_to == NEVER:
                yield versions[-1].message, self._state.work_of(id_)

    def _stored_at(self, message_id: str) -> datetime:
        first = self._state.messages[message_id][0]
        return instant(self._state.items[first.item].valid_from)
