"""What a store's contract says of scheduled jobs; see `memolith.ports.jobs`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from memolith.testing.builders import at, memory
from memolith.testing.store_records import HOSTILE, remember

if TYPE_CHECKING:
    from memolith.ports.jobs import JobLease
    from memolith.ports.store import Store

_EVERY_S = 100.0
_LEASE_S = 10.0


def _take(store: Store, seconds: float, name: str = "decay") -> JobLease | None:
    return store.jobs.acquire(name, now=at(seconds), every_s=_EVERY_S, lease_s=_LEASE_S)


def _taken(store: Store, seconds: float, name: str = "decay") -> JobLease:
    lease = _take(store, seconds, name)
    assert lease is not None
    return lease


class JobsContract:
    """Who may do a job, and how far it came."""

    def test_a_job_never_done_is_due_and_begins_anew(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert (lease.name, lease.state) == ("decay", None)

    def test_one_holds_a_job_at_a_time(self, store: Store) -> None:
        _taken(store, 0)
        assert _take(store, 0) is None
        assert _take(store, 9.9) is None
        assert _taken(store, 0, "expire").name == "expire"

    def test_a_finished_job_is_due_again_after_its_interval(self, store: Store) -> None:
        assert store.jobs.finish(_taken(store, 0), now=at(5))
        assert _take(store, 6) is None
        assert _take(store, 104.999_999) is None
        assert _taken(store, 105).state is None

    def test_a_released_job_stays_due_and_keeps_its_state(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "half", now=at(1), lease_s=_LEASE_S)
        store.jobs.release(lease)
        again = _taken(store, 1)
        assert again.state == "half"
        assert again.token != lease.token

    def test_a_job_can_be_kept_for_longer(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "a", now=at(9), lease_s=_LEASE_S)
        assert _take(store, 15) is None
        assert store.jobs.renew(lease, "b", now=at(18), lease_s=_LEASE_S)
        assert _take(store, 25) is None
        assert _taken(store, 28).state == "b"

    def test_a_lease_that_ran_out_is_taken_over_and_then_lost(self, store: Store) -> None:
        first = _taken(store, 0)
        assert store.jobs.renew(first, "half", now=at(1), lease_s=_LEASE_S)
        second = _taken(store, 11)
        assert second.state == "half"
        assert not store.jobs.renew(first, "other", now=at(12), lease_s=_LEASE_S)
        assert not store.jobs.finish(first, now=at(12))
        store.jobs.release(first)
        assert _take(store, 12) is None
        assert store.jobs.renew(second, "more", now=at(12), lease_s=_LEASE_S)
        assert store.jobs.finish(second, now=at(13))

    def test_a_lease_that_ran_out_still_counts_until_it_is_taken_over(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "late", now=at(50), lease_s=_LEASE_S)
        assert _take(store, 55) is None
        assert store.jobs.finish(lease, now=at(90))

    def test_a_finished_job_is_given_back(self, store: Store) -> None:
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "half", now=at(1), lease_s=_LEASE_S)
        assert store.jobs.finish(lease, now=at(2))
        assert not store.jobs.finish(lease, now=at(3))
        assert not store.jobs.renew(lease, "more", now=at(3), lease_s=_LEASE_S)
        store.jobs.release(lease)
        assert _taken(store, 102).state is None

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_name_and_state_will_do(self, store: Store, text: str) -> None:
        lease = _taken(store, 0, text)
        assert store.jobs.renew(lease, text, now=at(0), lease_s=_LEASE_S)
        assert _taken(store, 10, text).state == text

    def test_erasing_an_owner_forgets_the_states_and_nothing_else(self, store: Store) -> None:
        remember(store, memory(1))
        lease = _taken(store, 0)
        assert store.jobs.renew(lease, "alice", now=at(0), lease_s=_LEASE_S)
        store.erase("alice", at(1))
        assert _take(store, 1) is None
        assert _taken(store, 10).state is None

    def test_jobs_are_no_owners(self, store: Store) -> None:
        _taken(store, 0)
        assert store.owners() == []

    def test_of_many_threads_one_gets_a_job(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            for turn in range(10):
                found = list(pool.map(lambda _, t=turn: _take(store, 0, f"job {t}"), range(8)))
                assert sum(lease is not None for lease in found) == 1
