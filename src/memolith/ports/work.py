"""Background work: leases, pending messages, processing state and scheduled jobs.

Pending work is derived from the records: a message knows whether it was learned from, or
summarised. A lease only prevents two processes from doing the same work at once. Correctness
depends on the check that a transaction that writes a result still holds its lease
(`WorkWriter.holds_lease`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memolith.domain.memories import Memory
from memolith.domain.messages import Message
from memolith.domain.owners import ConsolidationProgress, PendingWork, ProcessingFlag, WorkKind


@dataclass(frozen=True, slots=True)
class WorkLease:
    """A temporary right to do one kind of work for an owner.

    Attributes:
        owner_id: The owner.
        work: The kind of work.
        token: Identifies this lease.
        attempts: Number of consecutive failures before this lease.
    """

    owner_id: str
    work: WorkKind
    token: bytes
    attempts: int = 0


class WorkLeases(Protocol):
    """The work leases of a store. Thread-safe and consistent across processes.

    For each kind of work, an owner has at most one valid lease. An expired lease can be acquired by
    another process; the former holder has then lost it. Until then, the former holder may still
    renew it and write under it. Callers provide the time. Leases do not change an owner's counter,
    and erasing an owner removes them. Every change waits for other writers of the owner, so it
    can't be done within a transaction of one's own on that owner.
    """

    def owners(self, work: WorkKind, *, now: datetime) -> list[str]:
        """Return the owners whose work of that kind may be acquired, sorted, without locking.

        For `LEARN`, these are owners with messages that `PendingWorkReader.pending_messages`
        returns; for other work, all owners. Owners whose work is leased, postponed or dead-lettered
        are left out.
        """
        ...

    def acquire(
        self, owner_id: str, work: WorkKind, *, now: datetime, lease_s: float
    ) -> WorkLease | None:
        """Acquire a lease; None if the work is leased, postponed or dead-lettered.

        Of concurrent callers, only one gets the lease. An owner without stored data has no work.
        Taking over an expired lease does not count as a failed attempt.

        Args:
            owner_id: The owner.
            work: The kind of work.
            now: The current time.
            lease_s: Duration of the lease in seconds, unless renewed.
        """
        ...

    def renew(self, lease: WorkLease, *, now: datetime, lease_s: float) -> bool:
        """Extend a lease; return False if it was lost."""
        ...

    def release(self, lease: WorkLease) -> None:
        """Release a lease and reset its attempts. Does nothing if the lease was lost."""
        ...

    def fail(self, lease: WorkLease, *, retry_at: datetime | None) -> None:
        """Release a lease as failed: increment its attempts and postpone the work until `retry_at`.

        None moves the work to the dead letters until `retry` is called. Does nothing if the lease
        was lost.
        """
        ...

    def retry(self, owner_id: str) -> None:
        """Make all dead-lettered and postponed work of an owner due immediately.

        This applies to leases and messages (`WorkWriter.schedule_retry`) and resets their attempts.
        Valid leases and forgotten messages are not changed.
        """
        ...


class PendingWorkReader(Protocol):
    """The part of a `Snapshot` that reads pending work."""

    def pending_messages(self, limit: int, *, now: datetime) -> list[Message]:
        """Return the first `limit` valid messages to learn from, in the order stored.

        Dead-lettered messages are left out, and postponed ones until their time. A forgotten
        message is pending again once it is valid again. A changed message stays pending.
        """
        ...

    def attempts(self, ids: Sequence[str]) -> int:
        """Return the highest number of failed learning attempts among these valid messages.

        Returns 0 if there are none.
        """
        ...

    def unsummarised_messages(
        self, limit: int | None = None, *, session_id: str | None = None
    ) -> list[Message]:
        """Return the valid messages that were not summarised, in the order stored.

        At most the first `limit` messages; of one session, or of all.
        """
        ...

    def count_unsummarised_messages(self) -> int:
        """Return the number of unsummarised messages."""
        ...

    def count_unsummarised_by_session(self) -> dict[str, int]:
        """Return the number of unsummarised messages by session, without empty sessions."""
        ...

    def memories_without_mark(self, mark: ProcessingFlag, kinds: frozenset[str]) -> list[Memory]:
        """Return the active memories of these kinds without that mark.

        Oldest first (by creation, then id). Later versions of a memory keep its marks.
        """
        ...

    def progress(self, session_id: str) -> ConsolidationProgress:
        """Return a session's consolidation progress; initial values for an unknown session."""
        ...

    def pending_work(self) -> PendingWork:
        """Return the amount of pending work."""
        ...


class WorkWriter(Protocol):
    """The part of a `Transaction` that records completed work.

    None of these methods creates a version or an event. Missing memories and messages are skipped,
    and so are forgotten messages.
    """

    def holds_lease(self, lease: WorkLease) -> bool:
        """Return whether a lease is still valid; if so, protect it until the commit.

        A lease stays valid until another process acquires it, or until it is released. Expiry alone
        does not end it.
        """
        ...

    def mark_pending(self, ids: Sequence[str]) -> None:
        """Mark messages as pending for learning, including those already learned from.

        Pending messages are not changed, even if postponed or dead-lettered.
        """
        ...

    def mark_learned(self, ids: Sequence[str], at: datetime) -> None:
        """Mark messages as learned from: no longer pending, with attempts reset."""
        ...

    def schedule_retry(self, ids: Sequence[str], *, retry_at: datetime | None) -> None:
        """Count a failed attempt and postpone pending messages until `retry_at`.

        None moves them to the dead letters. Messages that are not pending are skipped.
        """
        ...

    def mark_summarised(self, ids: Sequence[str], at: datetime | None) -> None:
        """Mark messages as summarised, including their later versions; None removes the mark."""
        ...

    def add_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """Add a mark to memories."""
        ...

    def remove_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """Remove a mark from memories."""
        ...

    def set_progress(self, session_id: str, progress: ConsolidationProgress) -> None:
        """Store a session's consolidation progress; the session need not have messages."""
        ...


# --- Scheduled jobs


@dataclass(frozen=True, slots=True)
class JobLease:
    """A temporary right to run a job.

    Attributes:
        name: The job.
        token: Identifies this lease.
        state: The state last saved by `JobStore.renew`, if the job was not finished since; None
            starts from the beginning.
    """

    name: str
    token: bytes
    state: str | None = None


class JobStore(Protocol):
    """The scheduled jobs of a store. Thread-safe and consistent across processes.

    A job has at most one valid lease. An expired lease can be acquired by another process; the
    former holder has then lost it. Until then, the former holder may still renew or finish it.
    Callers provide the time.
    """

    def acquire(
        self, name: str, *, now: datetime, every_s: float, lease_s: float
    ) -> JobLease | None:
        """Acquire a due job; None if it is not due, or another process holds it.

        A job is due if it never finished, or if it last finished at least `every_s` ago. Of
        concurrent callers, only one gets the lease.

        Args:
            name: Any name; acquiring a job for the first time creates it.
            now: The current time.
            every_s: Seconds from the end of a run until the job is due again.
            lease_s: Duration of the lease in seconds, unless renewed.
        """
        ...

    def renew(self, lease: JobLease, state: str, *, now: datetime, lease_s: float) -> bool:
        """Extend a lease and save the job's progress; return False if the lease was lost.

        The state is stored unencrypted, so it must not contain any content. Erasing an owner clears
        the states of all jobs, since they may name the owner.
        """
        ...

    def finish(self, lease: JobLease, *, now: datetime) -> bool:
        """Mark a job as finished and clear its state; return False if the lease was lost."""
        ...

    def release(self, lease: JobLease) -> None:
        """Release an unfinished job: it stays due and keeps its state.

        Does nothing if the lease was lost.
        """
        ...
