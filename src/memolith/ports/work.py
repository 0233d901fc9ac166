"""Work that waits in the store: who may do it now, what it is, and what became of it.

What waits is said by the records themselves: a message knows whether it was learned from, or
summarised. A claim only keeps two processes from doing the same at once; what counts is that a
transaction that writes a result still holds it (`WorkChanges.holds`).
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
    """The right to do one kind of work for an owner, for a while.

    Attributes:
        owner_id: For whom.
        work: What.
        token: Tells this claim from all others.
        attempts: How often the work failed in a row before.
    """

    owner_id: str
    work: WorkKind
    token: bytes
    attempts: int = 0


class WorkLeases(Protocol):
    """The claims of a store. Thread-safe, and the same to all processes that have it open.

    Of a kind of work an owner has one claim at most that counts. Who takes over one that ran out
    has it from then on, and the former holder has lost it; until then the former holder may still
    keep it and write under it. Time is what the callers say it is. An owner's counter does not
    move, and erasing an owner removes the claims. Whatever changes something waits for whoever
    writes to the owner: it can't be done within a transaction of one's own.
    """

    def owners(self, work: WorkKind, *, now: datetime) -> list[str]:
        """Return the owners for whom that work may be taken, sorted: a lock-free read.

        For `LEARN` those who have messages that `Waiting.awaiting` returns; for other work
        all. Those whose work is claimed, postponed or parked are left out.
        """
        ...

    def acquire(
        self, owner_id: str, work: WorkKind, *, now: datetime, lease_s: float
    ) -> WorkLease | None:
        """Take a claim; None where somebody holds it, or it is postponed or parked.

        Of several who ask at once, one gets it. An owner who has nothing stored has no work. That
        a holder was not heard of again is no failed attempt.

        Args:
            owner_id: For whom.
            work: What.
            now: The time.
            lease_s: For how long it is held, if it is not kept.
        """
        ...

    def renew(self, lease: WorkLease, *, now: datetime, lease_s: float) -> bool:
        """Hold a claim for longer; False where it was lost."""
        ...

    def release(self, lease: WorkLease) -> None:
        """Give a claim back, its count of attempts cleared. Where it was lost, nothing changes."""
        ...

    def fail(self, lease: WorkLease, *, retry_at: datetime | None) -> None:
        """Give a claim back as failed: its attempts grow by one, and it waits until then.

        None parks it: it waits until `unpark`. Where it was lost, nothing changes.
        """
        ...

    def retry(self, owner_id: str) -> None:
        """Let everything of an owner that is parked or postponed be tried again at once.

        Claims as well as messages (`WorkChanges.postpone`); their counts begin anew. What somebody
        holds, and forgotten messages, stay as they are.
        """
        ...


class PendingWorkReader(Protocol):
    """The part of a `Snapshot` that tells what is still to be done."""

    def pending_messages(self, limit: int, *, now: datetime) -> list[Message]:
        """Return valid messages that a model is still to learn from, in the order stored.

        The first of them, at most so many. Parked ones are left out, and postponed ones until
        their time. One that was forgotten waits again where it is valid again; one that was
        changed waits as before.
        """
        ...

    def attempts(self, ids: Sequence[str]) -> int:
        """Return how often learning from any of these valid messages has failed, at most.

        0 without any.
        """
        ...

    def unsummarised_messages(
        self, limit: int | None = None, *, session_id: str | None = None
    ) -> list[Message]:
        """Return the valid messages that were not summarised, in the order stored.

        The first of them, at most so many; of all sessions, or of one.
        """
        ...

    def count_unsummarised_messages(self) -> int:
        """Return how many those are."""
        ...

    def count_unsummarised_by_session(self) -> dict[str, int]:
        """Return how many those are in each session; sessions without any are left out."""
        ...

    def memories_without_mark(self, mark: ProcessingFlag, kinds: frozenset[str]) -> list[Memory]:
        """Return the active memories of these kinds without that mark.

        Oldest first (by creation, then id). A memory's later versions have its marks.
        """
        ...

    def progress(self, session_id: str) -> ConsolidationProgress:
        """Return how far a session's history was made shorter; of none, nothing was."""
        ...

    def pending_work(self) -> PendingWork:
        """Return how much waits."""
        ...


class WorkWriter(Protocol):
    """The part of a `Transaction` that says what was done.

    None of these makes a version or an event. Messages and memories that are not there are left
    out, and forgotten messages.
    """

    def holds_lease(self, lease: WorkLease) -> bool:
        """Tell whether a claim still counts, and let nobody take it before the commit.

        It counts until somebody else has taken it, or it was given back; not only until its
        lease has run out.
        """
        ...

    def mark_pending(self, ids: Sequence[str]) -> None:
        """Let messages wait to be learned from, those too that were learned from before.

        Those that wait already stay as they are, postponed or parked.
        """
        ...

    def mark_learned(self, ids: Sequence[str], at: datetime) -> None:
        """Mark messages as learned from: they wait no longer, and their count is cleared."""
        ...

    def schedule_retry(self, ids: Sequence[str], *, retry_at: datetime | None) -> None:
        """Count a failed attempt at messages, and let them wait until then; None parks them.

        Those that do not wait are left out.
        """
        ...

    def mark_summarised(self, ids: Sequence[str], at: datetime | None) -> None:
        """Mark messages as summarised, whatever they will say in later versions; None undoes it."""
        ...

    def add_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """Add a mark to memories."""
        ...

    def remove_mark(self, ids: Sequence[str], mark: ProcessingFlag) -> None:
        """Take a mark from memories."""
        ...

    def set_progress(self, session_id: str, progress: ConsolidationProgress) -> None:
        """Keep how far a session's history was made shorter, logged here or not."""
        ...


# --- Scheduled jobs: which process may do one now, and how far it came


@dataclass(frozen=True, slots=True)
class JobLease:
    """The right to do a job for a while.

    Attributes:
        name: The job.
        token: Tells this lease from all others.
        state: What `Jobs.keep` saved last, where the job was not finished since; None: it
            begins anew.
    """

    name: str
    token: bytes
    state: str | None = None


class JobStore(Protocol):
    """The jobs of a store. Thread-safe, and the same to all processes that have it open.

    A job has one lease at most that counts. Whoever takes over a lease that ran out has it from
    then on, and the former holder has lost it; until then the holder may still keep or finish it.
    Time is what the callers say it is.
    """

    def acquire(
        self, name: str, *, now: datetime, every_s: float, lease_s: float
    ) -> JobLease | None:
        """Take a job that is due; None where it is not, or somebody else holds it.

        It is due when it was never finished, or last finished `every_s` ago or longer. Of several
        who ask at once, one gets it.

        Args:
            name: Any name; the first who takes a job makes it.
            now: The time.
            every_s: How long after its end it is due again.
            lease_s: For how long it is held, if it is not kept.
        """
        ...

    def renew(self, lease: JobLease, state: str, *, now: datetime, lease_s: float) -> bool:
        """Hold a job for longer, and save how far it came; False where the lease was lost.

        The state is stored as it is, never encrypted: nothing of a memory belongs into it.
        Erasing an owner forgets the states of all jobs, since they may name the owner.
        """
        ...

    def finish(self, lease: JobLease, *, now: datetime) -> bool:
        """Give a job back as done, without a state; False where the lease was lost."""
        ...

    def release(self, lease: JobLease) -> None:
        """Give a job back as not done: it stays due, and its state is kept.

        Where the lease was lost, nothing changes.
        """
        ...
