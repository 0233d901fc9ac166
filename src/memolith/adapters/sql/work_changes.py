"""Saying what was done for one owner, within a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.changes import WriterBase
from memolith.adapters.sql.values import micros, micros_or_none, pack_valid_ids
from memolith.adapters.sql.work import DEAD_LETTER, PENDING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.work import ConsolidationProgress, ProcessingFlag
    from memolith.ports.work import WorkLease

HOLDS_LEASE = "SELECT 1 FROM claims WHERE owner_id = ? AND work = ? AND token = ?"
_WHERE_MESSAGES = (
    " WHERE owner_id = ?1 AND id IN (SELECT value FROM carray(?2)) AND valid_to IS NULL"
)
_MARK_PENDING = (
    f"UPDATE messages SET marks = {PENDING}, learned_at = NULL{_WHERE_MESSAGES} AND marks = 0"
)
_MARK_LEARNED = f"UPDATE messages SET marks = 0, attempts = 0, retry_at = NULL, learned_at = ?3{_WHERE_MESSAGES}"
_SCHEDULE_RETRY = (
    "UPDATE messages SET"
    f" marks = CASE WHEN CAST(?3 AS BIGINT) IS NULL THEN {DEAD_LETTER} ELSE {PENDING} END,"
    f" attempts = attempts + 1, retry_at = ?3{_WHERE_MESSAGES} AND marks <> 0"
)
_MARK_SUMMARISED = f"UPDATE messages SET summarised_at = ?3{_WHERE_MESSAGES}"
_WHERE_MEMORIES = " WHERE owner_id = ?1 AND id IN (SELECT value FROM carray(?2))"
_ADD_MARK = f"UPDATE memories SET marks = marks | ?3{_WHERE_MEMORIES} AND marks & ?3 <> ?3"
_REMOVE_MARK = f"UPDATE memories SET marks = marks & ~?3{_WHERE_MEMORIES} AND marks & ?3 <> 0"


class WorkWriter(WriterBase):
    """The ways to say what was done."""

    def holds_lease(self, lease: WorkLease) -> bool:
        """See the port. Nobody else takes the claim until the commit."""
        return lease.owner_id == self.owner_id and bool(
            self._connection.row(HOLDS_LEASE, (self._owner, lease.work.value, lease.token))
        )

    def mark_pending(self, ids: Sequence[str]) -> None:
        """See the port."""
        self._update_records(_MARK_PENDING, ids)

    def mark_learned(self, ids: Sequence[str], at: datetime) -> None:
        """See the port."""
        self._update_records(_MARK_LEARNED, ids, micros(at))

    def schedule_retry(self, ids: Sequence[str], *, retry_at: datetime | None) -> None:
        """See the port."""
        self._update_records(_SCHEDULE_RETRY, ids, micros_or_none(retry_at))

    def mark_summarised(self, ids: Sequence[str], at: datetime | None) -> None:
        """See the port."""
        self._update_records(_MARK_SUMMARISED, ids, micros_or_none(at))

    def add_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See the port."""
        self._update_records(_ADD_MARK, ids, int(mark))

    def remove_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """See the port."""
        self._update_records(_REMOVE_MARK, ids, int(mark))

    def set_progress(self, session_id: str, progress: ConsolidationProgress) -> None:
        """See the port."""
        with self._guard_change():
            self._connection.run(
                "UPDATE sessions SET consolidated_to = ?, failures = ?, consolidated_at = ?"
                " WHERE owner_id = ? AND number = ?",
                (
                    progress.consolidated_to,
                    progress.failures,
                    micros_or_none(progress.at),
                    self._owner,
                    self._get_session_number(session_id),
                ),
            )
            self._is_changed = True

    def _update_records(self, statement: str, ids: Sequence[str], *values: Any) -> None:
        packed = pack_valid_ids(ids)
        if not packed:
            return
        with self._guard_change():
            named = (self._owner, self._connection.bind_values(packed), *values)
            self._is_changed |= bool(self._connection.run(statement, named))
