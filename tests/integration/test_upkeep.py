"""Periodic jobs: decay, cleanup, expiry, eviction, working memory and retention."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memolith import Memolith
from memolith.domain.messages import Message, Role
from memolith.errors import InvalidInput, StoreUnavailable
from memolith.import_export.jsonl import ImportedMemory
from memolith.services.schedule import JobResult
from memolith.services.work import WorkResult
from memolith.testing.fakes import HashingEmbedder, SettableClock, WordCounter
from memolith.worker.background import run_loop

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(START)


def open_memory(
    clock: SettableClock, profile: str = "standard", store: str | Path = ":memory:"
) -> Memolith:
    return Memolith.open(
        store, profile=profile, embedder=HashingEmbedder(), tokens=WordCounter(), clock=clock
    )


@pytest.fixture
def companion(clock: SettableClock) -> Iterator[Memolith]:
    with open_memory(clock, "companion") as memory:
        yield memory


def test_decay_reports_weakened_memories_once(companion: Memolith, clock: SettableClock) -> None:
    fading = companion.remember("It rains", owner="a", kind="context", importance=0.8)
    floor = companion.remember("It is five", owner="a", kind="correction", importance=0.2)
    assert companion.apply_decay(owner="a") == ()
    clock.advance(timedelta(days=10))
    before = companion.list(owner="a").memories
    assert set(companion.apply_decay(owner="a")) == {fading.id}
    assert companion.apply_decay(owner="a") == ()
    assert companion.list(owner="a").memories == before
    assert companion.get(fading.id, owner="a").strength == pytest.approx(0.8 * 0.95**10)
    assert companion.get(floor.id, owner="a").strength == pytest.approx(0.35)


def test_decay_does_not_create_a_version_or_event(
    companion: Memolith, clock: SettableClock
) -> None:
    kept = companion.remember("It rains", owner="a", kind="context", importance=0.8)
    clock.advance(timedelta(days=1))
    companion.apply_decay()
    again = companion.get(kept.id, owner="a")
    assert (again.updated_at, again.version) == (kept.updated_at, kept.version)
    assert len(companion.history(kept.id, owner="a").events) == 1


def test_restore_reactivates_memories_faded_by_cleanup(
    companion: Memolith, clock: SettableClock
) -> None:
    weak = companion.remember("It rains", owner="a", kind="context", importance=0.3)
    companion.remember("It is five", owner="a", kind="correction", importance=0.3)
    clock.advance(timedelta(days=60))
    assert companion.cleanup(below=0.2, dry_run=True) == 1
    assert companion.get(weak.id, owner="a").state == "active"
    assert companion.cleanup(below=0.2) == 1
    assert companion.get(weak.id, owner="a").state == "faded"
    assert companion.recall("It rains", owner="a", touch=False).memories == ()
    companion.restore(weak.id, owner="a")
    assert companion.recall("It rains", owner="a", touch=False).memories[0].id == weak.id


def test_standard_profile_fades_memories_only_on_request(clock: SettableClock) -> None:
    with open_memory(clock) as memory:
        memory.remember("It rains", owner="a", kind="context", importance=0.1)
        clock.advance(timedelta(days=10_000))
        assert memory.cleanup() == 0
        assert memory.cleanup(below=0.5) == 1
        with pytest.raises(InvalidInput):
            memory.cleanup(below=2.0)


def test_memory_expires_at_its_expiry_time(clock: SettableClock) -> None:
    with open_memory(clock) as memory:
        short = memory.remember("Parking until noon", owner="a", expires_in="2h")
        memory.remember("Parking is dear", owner="a", expires_in="3h")
        clock.advance(timedelta(hours=2))
        assert memory.expire(owner="b") == 0
        assert memory.expire() == 1
        assert memory.expire() == 0
        assert memory.get(short.id, owner="a").state == "expired"


def test_facts_profile_evicts_the_weakest_above_a_thousand(clock: SettableClock) -> None:
    with open_memory(clock, "facts") as memory:
        owner = memory.owner("a")
        weakest = owner.remember("kind of thing 0 alone", kind="identity", importance=0.1)
        texts = (f"n{number}a n{number}b n{number}c n{number}d" for number in range(1, 1_000))
        owner.import_(
            [ImportedMemory(content=text, kind="identity", importance=0.5) for text in texts]
        )
        assert owner.active_count() == 1_000
        owner.remember("one more thing than there may be", kind="identity", importance=0.4)
        assert owner.active_count() == 1_000
        assert owner.get(weakest.id).state == "evicted"


def test_working_memories_become_episodic_when_the_session_ends(clock: SettableClock) -> None:
    with open_memory(clock, "chunks") as memory:
        owner = memory.owner("a")
        ended = owner.remember("Working on the gauge now", kind="working", session="s")
        idle = owner.remember("Looking at the map now", kind="working", session="t")
        owner.learn("Hello", session="s")
        owner.learn("Hello again", session="t")
        memory.run_jobs()
        assert owner.get(ended.id).kind == "working"
        owner.end_session("s")
        clock.advance(timedelta(minutes=2))
        memory.run_jobs()
        assert owner.get(ended.id).kind == "episodic"
        assert owner.get(idle.id).kind == "working"
        clock.advance(timedelta(hours=24))
        memory.run_jobs()
        assert owner.get(idle.id).kind == "episodic"


def test_retention_removes_only_old_inactive_records(clock: SettableClock) -> None:
    with open_memory(clock) as memory:
        owner = memory.owner("a")
        said = owner.log([Message("Ann", "I live in Oslo.", Role.USER, START, "1")], session="old")
        lost = owner.remember("Something about elephants")
        owner.forget(lost.id)
        clock.advance(timedelta(days=40))
        owner.log([Message("Ann", "I paint.", Role.USER, clock.now(), "2")], session="new")
        (preview,) = memory.retain(30, dry_run=True)
        (done,) = memory.retain(30)
        assert (preview.memories, preview.sessions, preview.messages) == (1, 1, 1)
        assert (done.memories, done.sessions, done.messages) == (1, 1, 1)
        assert [each.id for each in owner.sessions()] == ["new"]
        kept = owner.get(said.memories[0].id)
        assert (kept.state, kept.session_id, kept.sources) == ("active", None, ())
        assert owner.recall("Oslo", touch=False).memories[0].id == kept.id
        assert [each.content for each in owner.list(state="all").memories] == [
            "I live in Oslo.",
        ]
        with pytest.raises(InvalidInput):
            memory.retain(0)


def test_each_job_runs_at_its_interval(clock: SettableClock) -> None:
    with open_memory(clock, "facts") as memory:
        memory.remember("Lives in Oslo", owner="a")

        def jobs() -> set[str]:
            return {done.job for done in memory.run_jobs()}

        assert jobs() == {"pass", "expire", "decay:1h", "decay:24h", "cleanup"}
        assert jobs() == set()
        clock.advance(timedelta(minutes=1))
        assert jobs() == {"pass"}
        clock.advance(timedelta(hours=1))
        assert jobs() == {"pass", "expire", "decay:1h"}
        clock.advance(timedelta(hours=23))
        assert "decay:24h" in jobs()


def test_stopped_job_resumes_where_it_stopped(clock: SettableClock) -> None:
    with open_memory(clock) as memory:
        for owner in "abcd":
            memory.remember("Parking until noon", owner=owner, expires_in="1h")
        clock.advance(timedelta(hours=2))
        asked = iter([False] * 8)
        first = memory.run_jobs(lambda: next(asked, True))
        assert not all(done.finished for done in first)
        second = memory.run_jobs()
        assert all(done.finished for done in second)
        for owner in "abcd":
            assert memory.list(owner=owner, state="expired").total == 1


def test_concurrent_workers_run_each_job_once(tmp_path: Path, clock: SettableClock) -> None:
    with open_memory(clock, store=tmp_path / "m.db") as memory:
        for owner in "abcd":
            memory.remember("Parking until noon", owner=owner, expires_in="1h")
    clock.advance(timedelta(hours=2))
    found: list[JobResult] = []
    engines = [open_memory(clock, store=tmp_path / "m.db") for _ in range(4)]
    threads = [
        threading.Thread(target=lambda each=each: found.extend(each.run_jobs())) for each in engines
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in engines:
        each.close()
    expired = [done for done in found if done.job == "expire"]
    assert [(done.owners, done.changed) for done in expired] == [(4, 4)]


def test_job_loop_reports_results_and_survives_a_failure() -> None:
    stop = threading.Event()
    reported: list[JobResult | WorkResult] = []
    calls = 0

    def run_due(_stopped: object) -> tuple[JobResult, ...]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise StoreUnavailable("m.db", 10.0)
        if calls == 3:
            stop.set()
        return (JobResult(f"job {calls}", 1, 1, finished=True),)

    run_loop(run_due, stop, poll_s=0.0, on_result=reported.append)
    assert [each.job for each in reported if isinstance(each, JobResult)] == ["job 2", "job 3"]
