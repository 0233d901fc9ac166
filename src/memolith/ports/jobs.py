"""Scheduled jobs: which process may do one now, and how far it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime


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
