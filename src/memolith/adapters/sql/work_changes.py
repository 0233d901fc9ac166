"""Saying what was done for one owner, within a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters.sql.changes import Changes
from memolith.adapters.sql.values import find_ids, micros, micros_or_none
from memolith.adapters.sql.work import PARKED, WAITS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memolith.domain.work import Mark, Progress
    from memolith.ports.work import Claim

HOLDS = "SELECT 1 FROM claims WHERE owner_id = ? AND work = ? AND token = ?"
_MESSAGES = " WHERE owner_id = ?1 AND id IN (SELECT value FROM carray(?2)) AND valid_to IS NULL"
_AWAIT = f"UPDATE messages SET marks = {WAITS}, learned_at = NULL{_MESSAGES} AND marks = 0"
_LEARNED = (
    f"UPDATE messages SET marks = 0, attempts = 0, retry_at = NULL, learned_at = ?3{_MESSAGES}"
)
_POSTPONE = (
    "UPDATE messages SET"
    f" marks = CASE WHEN CAST(?3 AS BIGINT) IS NULL THEN {PARKED} ELSE {WAITS} END,"
    f" attempts = attempts + 1, retry_at = ?3{_MESSAGES} AND marks <> 0"
)
_SUMMARISED = f"UPDATE messages SET summarised_at = ?3{_MESSAGES}"
_MEMORIES = " WHERE owner_id = ?1 AND id IN (SELECT value FROM carray(?2))"
_MARK = f"UPDATE memories SET marks = marks | ?3{_MEMORIES} AND marks & ?3 <> ?3"
_UNMARK = f"UPDATE memories SET marks = marks & ~?3{_MEMORIES} AND marks & ?3 <> 0"


class WorkChanges(Changes):
    """The ways to say what was done."""

    def holds(self, claim: Claim) -> bool:
        """See the port. Nobody else takes the claim until the commit."""
        return claim.owner_id == self.owner_id and bool(
            self._connection.row(HOLDS, (self._owner, claim.work.value, claim.token))
        )

    def await_learning(self, ids: Sequence[str]) -> None:
        """See the port."""
        self._set(_AWAIT, ids)

    def learned(self, ids: Sequence[str], at: datetime) -> None:
        """See the port."""
        self._set(_LEARNED, ids, micros(at))

    def postpone(self, ids: Sequence[str], *, retry_at: datetime | None) -> None:
        """See the port."""
        self._set(_POSTPONE, ids, micros_or_none(retry_at))

    def summarised(self, ids: Sequence[str], at: datetime | None) -> None:
        """See the port."""
        self._set(_SUMMARISED, ids, micros_or_none(at))

    def mark(self, ids: Sequence[str], mark: Mark) -> None:
        """See the port."""
        self._set(_MARK, ids, int(mark))

    def unmark(self, ids: Sequence[str], mark: Mark) -> None:
        """See the port."""
        self._set(_UNMARK, ids, int(mark))

    def set_progress(self, session_id: str, progress: Progress) -> None:
        """See the port."""
        with self._change():
            self._connection.run(
                "UPDATE sessions SET consolidated_to = ?, failures = ?, consolidated_at = ?"
                " WHERE owner_id = ? AND number = ?",
                (
                    progress.consolidated_to,
                    progress.failures,
                    micros_or_none(progress.at),
                    self._owner,
                    self._session(session_id),
                ),
            )
            self._is_changed = True

    def _set(self, statement: str, ids: Sequence[str], *values: Any) -> None:
        packed = find_ids(ids)
        if not packed:
            return
        with self._change():
            named = (self._owner, self._connection.many(packed), *values)
            self._is_changed |= bool(self._connection.run(statement, named))
