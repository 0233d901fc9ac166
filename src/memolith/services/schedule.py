"""Runs scheduled jobs, each at its interval and in one process at a time.

A job interrupted by a crash is resumed by another process.
"""

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
"""Seconds after which a job of an unresponsive process is taken over. A guess, far longer than the
work for one owner."""

ShouldStop = Callable[[], bool]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """A job that runs at intervals for all owners.

    Attributes:
        name: The name in the store.
        interval_s: Seconds from its end until it is due again.
        work: Does the job for one owner; returns the number of changed records.
        applies_to: Whether the job applies to an owner.
    """

    name: str
    interval_s: float
    work: Callable[[str], int]
    applies_to: Callable[[str], bool] = lambda _owner: True


@dataclass(frozen=True, slots=True)
class JobResult:
    """A run of a job.

    Attributes:
        job: The job's name.
        owners: The number of owners processed by this run.
        changed: The number of changed records.
        finished: Whether all owners were processed: not if it was stopped or taken over.
    """

    job: str
    owners: int
    changed: int
    finished: bool


class JobScheduler:
    """Runs due jobs."""

    def __init__(
        self,
        access: Access,
        maintenance: Maintenance,
        retention: Retention,
        *,
        retention_days: int = 0,
    ) -> None:
        """Configure the scheduler; 0 retention days: no retention job."""
        self._access = access
        self._maintenance = maintenance
        self._retention = retention
        self._retention_days = retention_days

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs, the most frequent first."""
        return tuple(sorted(self._iter_jobs(), key=lambda job: job.interval_s))

    def run_due(self, should_stop: ShouldStop = lambda: False) -> tuple[JobResult, ...]:
        """Run the jobs that are due and not leased by another process; return their results.

        Args:
            should_stop: Called between owners; if true, the rest is left for later.

        Raises:
            StoreUnavailable: The store can't be written to; the rest stays due.
        """
        results = (self._run_job(job, should_stop) for job in self.jobs() if not should_stop())
        return tuple(each for each in results if each is not None)

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
            result = self._run_for_owners(job, lease, should_stop)
        except BaseException:
            jobs.release(lease)
            raise
        if result.finished:
            jobs.finish(lease, now=self._access.clock.now())
        else:
            jobs.release(lease)
        return result

    def _run_for_owners(self, job: Job, lease: JobLease, should_stop: ShouldStop) -> JobResult:
        """Run a job for the remaining owners, in the order of their ids."""
        store = self._access.store
        owners = changed = 0
        for owner_id in store.owners():
            if lease.state is not None and owner_id <= lease.state:
                continue
            if should_stop():
                return JobResult(job.name, owners, changed, finished=False)
            if self._access.find_profile(owner_id) is None:
                _log.warning("%s: skipped an owner whose profile is not defined", job.name)
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
        _log.info("%s: an owner was erased in the meantime", job.name)
        return 0
