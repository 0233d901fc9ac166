"""Scheduled jobs: each done at its interval, by one process at a time, taken up where one died."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memolith.errors import OwnerErased
from memolith.ports.work import JobLease
from memolith.services.access import Access

if TYPE_CHECKING:
    from memolith.services.maintenance import Maintenance, Retention

HOUR_S = 3_600.0
LEASE_S = 300.0
"""For how long a process that is not heard of again keeps a job: a guess, far longer than what is
done for one owner takes."""

ShouldStop = Callable[[], bool]

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
    interval_s: float
    work: Callable[[str], int]
    applies_to: Callable[[str], bool] = lambda _owner: True


@dataclass(frozen=True, slots=True)
class JobResult:
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


class JobScheduler:
    """Does what is due."""

    def __init__(
        self,
        access: Access,
        maintenance: Maintenance,
        retention: Retention,
        *,
        retention_days: int = 0,
    ) -> None:
        """Use these; with 0 days, everything is retained."""
        self._access = access
        self._maintenance = maintenance
        self._retention = retention
        self._retention_days = retention_days

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs, the most frequent first."""
        return tuple(sorted(self._iter_jobs(), key=lambda job: job.interval_s))

    def run_due(self, should_stop: ShouldStop = lambda: False) -> tuple[JobResult, ...]:
        """Do the jobs that are due and that nobody else is doing; return what was done.

        Args:
            stopped: Asked between owners: whether to leave the rest for later.

        Raises:
            StoreUnavailable: The store can't be written to; what is left stays due.
        """
        done = (self._run_job(job, should_stop) for job in self.jobs() if not should_stop())
        return tuple(each for each in done if each is not None)

    def _iter_jobs(self) -> Iterator[Job]:
        work = self._maintenance
        yield Job(
            "pass",
            60.0,
            lambda owner: len(work.promote_transient(owner)),
            self._has_transient_kinds,
        )
        yield Job("expire", HOUR_S, lambda owner: len(work.expire(owner)))
        intervals = {each.decay_interval_hours for each in self._access.profiles.values()}
        for hours in sorted(intervals):
            yield Job(
                f"decay:{hours:g}h",
                hours * HOUR_S,
                self._decay,
                self._matches_decay_interval(hours),
            )
        yield Job("cleanup", 24 * HOUR_S, lambda owner: len(work.cleanup(owner)))
        if self._retention_days:
            yield Job("retain", 24 * HOUR_S, self._retain)

    def _decay(self, owner_id: str) -> int:
        return len(self._maintenance.decay(owner_id))

    def _retain(self, owner_id: str) -> int:
        return self._retention.retain(owner_id, days=self._retention_days).removed_count

    def _has_transient_kinds(self, owner_id: str) -> bool:
        return bool(self._access.get_profile(owner_id).kinds_after_session)

    def _matches_decay_interval(self, hours: float) -> Callable[[str], bool]:
        return lambda owner: self._access.get_profile(owner).decay_interval_hours == hours

    def _run_job(self, job: Job, should_stop: ShouldStop) -> JobResult | None:
        jobs, now = self._access.store.jobs, self._access.clock.now()
        lease = jobs.acquire(job.name, now=now, every_s=job.interval_s, lease_s=LEASE_S)
        if lease is None:
            return None
        try:
            done = self._run_for_owners(job, lease, should_stop)
        except BaseException:
            jobs.release(lease)
            raise
        if done.finished:
            jobs.finish(lease, now=self._access.clock.now())
        else:
            jobs.release(lease)
        return done

    def _run_for_owners(self, job: Job, lease: JobLease, should_stop: ShouldStop) -> JobResult:
        """Do a job for the owners that are left, in the order of their ids."""
        store = self._access.store
        owners = changed = 0
        for owner_id in store.owners():
            if lease.state is not None and owner_id <= lease.state:
                continue
            if should_stop():
                return JobResult(job.name, owners, changed, finished=False)
            if self._access.find_profile(owner_id) is None:
                _log.warning("%s: an owner is left out, whose profile is not there", job.name)
            elif job.applies_to(owner_id):
                changed += _run_for_owner(job, owner_id)
                owners += 1
            now = self._access.clock.now()
            if not store.jobs.renew(lease, owner_id, now=now, lease_s=LEASE_S):
                return JobResult(job.name, owners, changed, finished=False)
        return JobResult(job.name, owners, changed, finished=True)


def _run_for_owner(job: Job, owner_id: str) -> int:
    try:
        return job.work(owner_id)
    except OwnerErased:
        _log.info("%s: an owner was erased meanwhile", job.name)
        return 0
