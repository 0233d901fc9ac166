"""The worker in the process."""

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


class Ran:
    """Counts how often it was run, and fails as it is told to."""

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


def test_nothing_runs_before_there_is_something_to_do() -> None:
    ran = Ran()
    BackgroundWorker(ran, poll_s=0.0).close()
    assert ran.times == 0


def test_it_runs_when_it_is_told_to_and_looks_again_by_itself() -> None:
    ran = Ran()
    background = BackgroundWorker(ran, poll_s=0.001)
    background.wake()
    ran.wait()
    ran.wait()
    background.close()


def test_once_begun_it_looks_though_nobody_tells_it_to() -> None:
    ran = Ran()
    background = BackgroundWorker(ran, poll_s=0.001)
    background.start()
    ran.wait()
    background.close()


def test_that_it_begins_is_no_reason_to_look_at_once_nor_to_wait_for_it() -> None:
    ran = Ran()
    background = BackgroundWorker(ran)
    background.start()
    assert background.drain()
    background.close()
    assert ran.times == 0


def test_of_a_store_that_can_only_be_read_it_keeps_away() -> None:
    ran = Ran(StoreReadOnly("/mnt/memory.db", "a read-only disk"))
    background = BackgroundWorker(ran, poll_s=0.001)
    background.start()
    ran.wait()
    background.close()
    assert ran.times == 1


@pytest.mark.parametrize("failure", [StoreUnavailable("locked"), ValueError("a user's own")])
def test_a_failure_does_not_end_it_and_its_words_stay_out_of_the_log(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    ran = Ran(failure)
    background = BackgroundWorker(ran, poll_s=0.001)
    background.wake()
    ran.wait()
    ran.wait()
    background.close()
    assert "a user's own" not in caplog.text


def test_closing_waits_for_what_is_under_way_and_no_longer() -> None:
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


def test_after_closing_nothing_begins() -> None:
    ran = Ran()
    background = BackgroundWorker(ran)
    background.close()
    background.wake()
    background.close()
    assert ran.times == 0


def test_draining_waits_for_a_look_that_begins_after_it_was_asked_for() -> None:
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


def test_draining_waits_for_nothing_where_nothing_was_begun_or_all_is_over() -> None:
    ran = Ran()
    background = BackgroundWorker(ran)
    assert background.drain()
    assert ran.times == 0
    background.wake()
    ran.wait()
    background.close()
    assert not background.drain()


def test_a_look_that_fails_is_a_look() -> None:
    background = BackgroundWorker(Ran(StoreUnavailable("locked"), ValueError("odd")))
    background.wake()
    assert background.drain(PATIENCE_S)
    background.close()


class Interrupted(BackgroundWorker):
    """Is waited for until somebody has enough."""

    def close(self) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_of_the_waiting_leaves_nothing_open() -> None:
    memory = Memolith.open(":memory:", embedder=HashingEmbedder(64), tokens=WordCounter())
    with pytest.raises(KeyboardInterrupt):
        replace(memory._app, background=Interrupted(Ran())).close()
    with pytest.raises(StoreUnavailable, match="closed"):
        memory.owners()
