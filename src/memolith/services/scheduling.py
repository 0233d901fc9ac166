"""Scheduled jobs: each done at its interval, by one process at a time, taken up where one died."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.errors import OwnerErased

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.ports.jobs import Lease
    from memolith.services.access import Access
    from memolith.services.maintain import Maintaining
    from memolith.services.retain import Retaining

HOUR_S = 3_600.0
LEASE_S = 300.0
"""For how long a process that is not heard of again keeps a job: a guess, far longer than what is
done for one owner takes."""

Stop = Callable[[], bool]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """Something that is due now and then for every owner.

    Attributes:
        name: As the store knows it.
        every_s: How long after its end it is due again, in seconds.
        work: Does it for one owner; returns how many records it changed.
        concerns: Whether it is for an owner at all.
    """

    name: str
    every_s: float
    work: Callable[[str], int]
    concerns: Callable[[str], bool] = lambda _owner: True


@dataclass(frozen=True, slots=True)
class Done:
    """A job that was done.

    Attributes:
        job: Its name.
        owners: For how many owners, by this process.
        changed: How many records were changed.
        finished: Whether it was done to its end: not where it was stopped, or another process
            took it over.
    """

    job: str
    owners: int
    changed: int
    finished: bool


class Scheduling:
    """Does what is due."""

    def __init__(
        self,
        access: Access,
        maintaining: Maintaining,
        retaining: Retaining,
        *,
        retention_days: int = 0,
    ) -> None:
        """Use these; with 0 days, everything is retained."""
        self._access = access
        self._maintaining = maintaining
        self._retaining = retaining
        self._retention_days = retention_days

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs, the most frequent first."""
        return tuple(sorted(self._jobs(), key=lambda job: job.every_s))

    def run_due(self, stopped: Stop = lambda: False) -> tuple[Done, ...]:
        """Do the jobs that are due and that nobody else is doing; return what was done.

        Args:
            stopped: Asked between owners: whether to leave the rest for later.

        Raises:
            StoreUnavailable: The store can't be written to; what is left stays due.
        """
        done = (self._run(job, stopped) for job in self.jobs() if not stopped())
        return tuple(each for each in done if each is not None)

    def _jobs(self) -> Iterator[Job]:
        work = self._maintaining
        yield Job("pass", 60.0, lambda owner: len(work.pass_on(owner)), self._passes)
        yield Job("expire", HOUR_S, lambda owner: len(work.expire(owner)))
        intervals = {each.decay_every_hours for each in self._access.profiles.values()}
        for hours in sorted(intervals):
            yield Job(f"decay:{hours:g}h", hours * HOUR_S, self._decay, self._decays(hours))
        yield Job("cleanup", 24 * HOUR_S, lambda owner: len(work.cleanup(owner)))
        if self._retention_days:
            yield Job("retain", 24 * HOUR_S, self._retain)

    def _decay(self, owner_id: str) -> int:
        return len(self._maintaining.decay(owner_id))

    def _retain(self, owner_id: str) -> int:
        return self._retaining.retain(owner_id, days=self._retention_days).removed

    def _passes(self, owner_id: str) -> bool:
        return bool(self._access.profile(owner_id).passing)

    def _decays(self, hours: float) -> Callable[[str], bool]:
        return lambda owner: self._access.profile(owner).decay_every_hours == hours

    def _run(self, job: Job, stopped: Stop) -> Done | None:
        jobs, now = self._access.store.jobs, self._access.clock.now()
        lease = jobs.take(job.name, now=now, every_s=job.every_s, lease_s=LEASE_S)
        if lease is None:
            return None
        try:
            done = self._for_owners(job, lease, stopped)
        except BaseException:
            jobs.release(lease)
            raise
        if done.finished:
            jobs.finish(lease, now=self._access.clock.now())
        else:
            jobs.release(lease)
        return done

    def _for_owners(self, job: Job, lease: Lease, stopped: Stop) -> Done:
        """Do a job for the owners that are left, in the order of their ids."""
        store = self._access.store
        owners = changed = 0
        for owner_id in store.owners():
            if lease.state is not None and owner_id <= lease.state:
                continue
            if stopped():
                return Done(job.name, owners, changed, finished=False)
            if self._access.profile_or_none(owner_id) is None:
                _log.warning("%s: an owner is left out, whose profile is not there", job.name)
            elif job.concerns(owner_id):
                changed += _worked(job, owner_id)
                owners += 1
            now = self._access.clock.now()
            if not store.jobs.keep(lease, owner_id, now=now, lease_s=LEASE_S):
                return Done(job.name, owners, changed, finished=False)
        return Done(job.name, owners, changed, finished=True)


def _worked(job: Job, owner_id: str) -> int:
    try:
        return job.work(owner_id)
    except OwnerErased:
        _log.info("%s: an owner was erased meanwhile", job.name)
        return 0
