"""The in-process background worker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from memolith import Memolith
from memolith.domain.owners import WorkKind
from memolith.errors import StoreReadOnly, StoreUnavailable
from memolith.services.work import WorkResult
from memolith.testing.fakes import HashingEmbedder, WordCounter
from memolith.worker.background import BackgroundWorker

PATIENCE_S = 10.0
DONE = (WorkResult("alice", WorkKind.LEARN, 1, 0),)


class FakeWork:
    """Count the runs, and raise the given failures in turn."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self._again = threading.Semaphore(0)
        self.times = 0

    def __call__(self, stopped: Callable[[], bool]) -> tuple[WorkResult, ...]:
        del stopped
        self.times += 1
        self._again.release()
        if self._failures:
            raise self._failures.pop(0)
        return DONE

    def wait(self) -> None:
        assert self._again.acquire(timeout=PATIENCE_S)


def test_worker_is_idle_until_woken() -> None:
    ran = FakeWork()
    BackgroundWorker(ran, poll_s=0.0).close()
    assert ran.times == 0


def test_woken_worker_runs_and_polls_again() -> None:
    ran = FakeWork()
    background = BackgroundWorker(ran, poll_s=0.001)
    background.wake()
    ran.wait()
    ran.wait()
    background.close()


def test_started_worker_polls_without_wake() -> None:
    ran = FakeWork()
    background = BackgroundWorker(ran, poll_s=0.001)
    background.start()
    ran.wait()
    background.close()


def test_start_neither_runs_at_once_nor_delays_drain() -> None:
    ran = FakeWork()
    background = BackgroundWorker(ran)
    background.start()
    assert background.drain()
    background.close()
    assert ran.times == 0


def test_worker_stops_on_read_only_store() -> None:
    ran = FakeWork(StoreReadOnly("/mnt/memory.db", "a read-only disk"))
    background = BackgroundWorker(ran, poll_s=0.001)
    background.start()
    ran.wait()
    background.close()
    assert ran.times == 1


@pytest.mark.parametrize("failure", [StoreUnavailable("locked"), ValueError("a user's own")])
def test_failure_neither_stops_worker_nor_logs_its_text(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    ran = FakeWork(failure)
    background = BackgroundWorker(ran, poll_s=0.001)
    background.wake()
    ran.wait()
    ran.wait()
    background.close()
    assert "a user's own" not in caplog.text


def test_close_waits_only_for_work_in_progress() -> None:
    began, ended, patience = threading.Event(), threading.Event(), threading.Event()

    def slow(stopped: Callable[[], bool]) -> tuple[WorkResult, ...]:
        began.set()
        while not stopped():
            patience.wait(0.001)
        ended.set()
        return ()

    background = BackgroundWorker(slow, drain_s=PATIENCE_S)
    background.wake()
    assert began.wait(PATIENCE_S)
    background.close()
    assert ended.is_set()


def test_closed_worker_runs_nothing() -> None:
    ran = FakeWork()
    background = BackgroundWorker(ran)
    background.close()
    background.wake()
    background.close()
    assert ran.times == 0


def test_drain_waits_for_run_started_after_request() -> None:
    began, goes_on = threading.Event(), threading.Event()
    looks: list[int] = []

    def work(stopped: Callable[[], bool]) -> tuple[WorkResult, ...]:
        del stopped
        began.set()
        assert goes_on.wait(PATIENCE_S)
        looks.append(1)
        return ()

    background = BackgroundWorker(work)
    background.wake()
    assert began.wait(PATIENCE_S)
    assert not background.drain(0.01)
    goes_on.set()
    assert background.drain(PATIENCE_S)
    assert len(looks) >= 2
    background.close()


def test_drain_of_unstarted_or_closed_worker_returns_immediately() -> None:
    ran = FakeWork()
    background = BackgroundWorker(ran)
    assert background.drain()
    assert ran.times == 0
    background.wake()
    ran.wait()
    background.close()
    assert not background.drain()


def test_failed_run_counts_for_drain() -> None:
    background = BackgroundWorker(FakeWork(StoreUnavailable("locked"), ValueError("odd")))
    background.wake()
    assert background.drain(PATIENCE_S)
    background.close()


class InterruptedWorker(BackgroundWorker):
    """A worker whose close is interrupted from the keyboard."""

    def close(self) -> None:
        raise KeyboardInterrupt


def test_interrupted_close_still_closes_store() -> None:
    memory = Memolith.open(":memory:", embedder=HashingEmbedder(64), tokens=WordCounter())
    with pytest.raises(KeyboardInterrupt):
        replace(memory._app, background=InterruptedWorker(FakeWork())).close()
    with pytest.raises(StoreUnavailable, match="closed"):
        memory.owners()
