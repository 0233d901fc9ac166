"""What of one owner is still to be done."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memolith.adapters.inmemory.reads import RecordReader
from memolith.adapters.inmemory.state import MessageWork, is_pending
from memolith.adapters.sql.values import NEVER, instant
from memolith.adapters.sql.work import DEAD_LETTER, PENDING
from memolith.domain.memories import State
from memolith.domain.work import ConsolidationProgress, PendingWork, WorkKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from memolith.domain.memories import Memory
    from memolith.domain.messages import Message
    from memolith.domain.work import ProcessingFlag


class PendingWorkReader(RecordReader):
    """The part of a snapshot that tells what is still to be done."""

    def pending_messages(self, limit: int, *, now: datetime) -> list[Message]:
        """See the port."""
        return [said for said, work in self._current_messages() if is_pending(work, now)][:limit]

    def attempts(self, ids: Sequence[str]) -> int:
        """See the port."""
        counts = [work.attempts for said, work in self._current_messages() if said.id in set(ids)]
        return max(counts, default=0)

    def unsummarised_messages(
        self, limit: int | None = None, *, session_id: str | None = None
    ) -> list[Message]:
        """See the port."""
        found = (said for said, work in self._current_messages() if work.summarised_at is None)
        return [said for said in found if session_id in (None, said.session_id)][:limit]

    def count_unsummarised_messages(self) -> int:
        """See the port."""
        return len(self.unsummarised_messages())

    def count_unsummarised_by_session(self) -> dict[str, int]:
        """See the port."""
        return dict(Counter(said.session_id for said in self.unsummarised_messages()))

    def memories_without_mark(self, mark: ProcessingFlag, kinds: frozenset[str]) -> list[Memory]:
        """See the port."""
        found = [
            memory
            for memory in self._all()
            if memory.state is State.ACTIVE
            and memory.kind in kinds
            and mark not in self._state.marks.get(memory.id, type(mark)(0))
        ]
        return sorted(found, key=lambda memory: (memory.created_at, memory.id))

    def progress(self, session_id: str) -> ConsolidationProgress:
        """See the port."""
        session = self._state.sessions.get(session_id)
        return session.progress if session else ConsolidationProgress()

    def pending_work(self) -> PendingWork:
        """See the port."""
        waiting = [said for said, work in self._current_messages() if work.marks == PENDING]
        claims = self._state.claims.items()
        return PendingWork(
            pending_messages=len(waiting),
            dead_letters=sum(work.marks == DEAD_LETTER for _, work in self._current_messages()),
            oldest_at=self._stored_at(waiting[0].id) if waiting else None,
            failed_kinds=tuple(
                sorted(kind for kind, one in claims if one.is_parked and kind is not WorkKind.LEARN)
            ),
        )

    def _current_messages(self) -> Iterator[tuple[Message, MessageWork]]:
        """Yield the valid messages in the order stored, and what is still to be done with each."""
        for id_, versions in self._state.messages.items():
            if self._state.items[versions[-1].item].valid_to == NEVER:
                yield versions[-1].message, self._state.work_of(id_)

    def _stored_at(self, message_id: str) -> datetime:
        first = self._state.messages[message_id][0]
        return instant(self._state.items[first.item].valid_from)
