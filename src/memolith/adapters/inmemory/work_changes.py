"""Saying what was done for one owner."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING

from memolith.adapters.inmemory.state import MessageWork
from memolith.adapters.inmemory.writes import RecordWriter
from memolith.adapters.sql.values import NEVER
from memolith.adapters.sql.work import DEAD_LETTER, PENDING
from memolith.domain.work import ProcessingFlag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memolith.domain.work import ConsolidationProgress
    from memolith.ports.work import WorkLease


class WorkWriter(RecordWriter):
    """The ways to say what was done."""

    def holds_lease(self, lease: WorkLease) -> bool:
        """See the port. Claims change only under the owner's lock, which is held here."""
        held = self._state.claims.get(lease.work)
        return lease.owner_id == self.owner_id and held is not None and held.token == lease.token

    def mark_pending(self, ids: Sequence[str]) -> None:
        """See the port."""
        self._set(
            ids,
            lambda work: work if work.marks else replace(work, marks=PENDING, learned_at=None),
        )

    def mark_learned(self, ids: Sequence[str], at: datetime) -> None:
        """See the port."""
        done = at.astimezone(UTC)
        self._set(
            ids,
            lambda work: MessageWork(learned_at=done, summarised_at=work.summarised_at),
        )

    def schedule_retry(self, ids: Sequence[str], *, retry_at: datetime | None) -> None:
        """See the port."""
        until = None if retry_at is None else retry_at.astimezone(UTC)
        self._set(ids, lambda work: _postpone(work, until) if work.marks else work)

    def mark_summarised(self, ids: Sequence[str], at: datetime | None) -> None:
        """See the port."""
        done = None if at is None else at.astimezone(UTC)
        self._set(ids, lambda work: replace(work, summarised_at=done))

    def add_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See the port."""
        self._set_marks(ids, lambda before: before | mark)

    def remove_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See the port."""
        self._set_marks(ids, lambda before: before & ~mark)

    def set_progress(self, session_id: str, progress: ConsolidationProgress) -> None:
        """See the port."""
        at = None if progress.at is None else progress.at.astimezone(UTC)
        session = replace(self._session(session_id), progress=replace(progress, at=at))
        self._state.sessions[session_id] = session
        self._is_changed = True

    def _set_marks(
        self, ids: Sequence[str], change: Callable[[ProcessingFlag], ProcessingFlag]
    ) -> None:
        marks = self._state.marks
        for id_ in self._state.memories.keys() & set(ids):
            before = marks.get(id_, ProcessingFlag(0))
            marks[id_] = change(before)
            self._is_changed |= marks[id_] != before

    def _set(self, ids: Sequence[str], change: Callable[[MessageWork], MessageWork]) -> None:
        for id_ in set(ids):
            for version in self._state.messages.get(id_, ())[-1:]:
                before = self._state.work_of(id_)
                after = change(before)
                if self._state.items[version.item].valid_to == NEVER and after is not before:
                    self._state.work[id_] = after
                    self._is_changed = True


def _postpone(work: MessageWork, until: datetime | None) -> MessageWork:
    marks = DEAD_LETTER if until is None else PENDING
    return replace(work, marks=marks, attempts=work.attempts + 1, retry_at=until)
