"""Several processes run the jobs of one store: each job runs once, even if a process is killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from memolith.services.schedule import LEASE_S
from memolith.testing.fakes import SettableClock
from support.durability.job_process import Orders, do_jobs
from support.processes import Running, started
from support.stores import PLAIN, opened

_START = datetime(2026, 3, 1, 12, tzinfo=UTC)
_OWNERS = [f"owner {number}" for number in range(6)]
_PROCESSES = 3

Done = Sequence[tuple[str, int, int, bool]]


def fill_store(store: str, clock: SettableClock) -> None:
    """Store for each owner a memory that expires in an hour, and let it expire."""
    with opened(store, PLAIN, clock=clock) as memory:
        for owner in _OWNERS:
            memory.remember("Parking until noon", owner=owner, expires_in="1h")
    clock.advance(timedelta(hours=2))


def start_process(store: str, clock: SettableClock, *, stops_after: int | None = None) -> Running:
    orders = Orders(store, clock.now(), stops_after)
    return started(do_jobs, msgspec.json.encode(orders))


def get_jobs(running: Running) -> Any:
    """Wait for a process to end; return the jobs that it ran."""
    with closing(running.telling):
        done = running.telling.recv()
        running.process.join()
    assert running.process.exitcode == 0
    return done


def run_jobs_in_parallel(store: str, clock: SettableClock) -> Done:
    """Run the due jobs in several processes at once; return the jobs that ran."""
    running = [start_process(store, clock) for _ in range(_PROCESSES)]
    for each in running:
        each.telling.send(0)
    return [done for each in running for done in get_jobs(each)]


def count_expired(store: str) -> list[int]:
    with opened(store, PLAIN) as memory:
        assert memory.verify().findings == ()
        return [memory.list(owner=owner, state="expired").total for owner in _OWNERS]


def test_several_processes_run_each_job_once(store: str) -> None:
    clock = SettableClock(_START)
    fill_store(store, clock)
    done = run_jobs_in_parallel(store, clock)
    jobs = Counter(job for job, *_ in done)
    assert {"pass", "expire", "cleanup"} <= set(jobs)
    assert set(jobs.values()) == {1}
    assert [each for each in done if each[0] == "expire"] == [("expire", 6, 6, True)]
    assert run_jobs_in_parallel(store, clock) == []
    assert count_expired(store) == [1] * len(_OWNERS)


def test_killed_process_job_is_resumed_by_another(store: str) -> None:
    clock = SettableClock(_START)
    fill_store(store, clock)
    with opened(store, PLAIN, clock=clock) as memory:
        memory.run_jobs()
        for owner in _OWNERS:
            memory.remember("Tea is at four", owner=owner, expires_in="1h")
    clock.advance(timedelta(hours=2))
    dying = start_process(store, clock, stops_after=2)
    dying.telling.send(0)
    assert dying.telling.recv() == "stopped"
    dying.process.kill()
    dying.process.join()
    dying.telling.close()
    assert "pass" not in {job for job, *_ in run_jobs_in_parallel(store, clock)}
    clock.advance(timedelta(seconds=LEASE_S))
    done = run_jobs_in_parallel(store, clock)
    assert [each[0] for each in done if each[0] == "pass"] == ["pass"]
    assert count_expired(store) == [2] * len(_OWNERS)
