"""Jobs after a reply run in order for each owner, and all of them before shutdown."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from memolith.errors import InvalidInput, StoreUnavailable
from memolith.server.proxy.background import BackgroundQueue


@pytest.fixture
def failed() -> list[BaseException]:
    return []


@pytest.fixture
def queue(failed: list[BaseException]) -> Iterator[BackgroundQueue]:
    made = BackgroundQueue(failed.append, retry_delays_s=(0.01, 0.01), max_pending=100)
    yield made
    made.close()


def test_submitted_job_runs_only_once_it_is_started(queue: BackgroundQueue) -> None:
    done: list[int] = []
    noted = queue.submit("alice", lambda: done.append(1))
    assert not queue.wait("alice", 0)
    assert done == []
    assert not noted.first_attempt.done()
    noted.start()
    assert queue.wait("alice", 10)
    assert done == [1]
    assert noted.first_attempt.done()


def test_jobs_of_one_owner_run_in_order(queue: BackgroundQueue) -> None:
    done: list[int] = []
    every = [queue.submit("alice", lambda n=n: done.append(n)) for n in range(50)]  # type: ignore[misc] # mypy reads no defaults of lambdas
    for noted in reversed(every):
        noted.start()
    assert queue.drain(10)
    assert done == list(range(50))


def test_owner_does_not_wait_for_jobs_of_another(queue: BackgroundQueue) -> None:
    going = threading.Event()

    def wait() -> None:
        going.wait(10)

    queue.submit("alice", wait).start()
    queue.submit("bob", lambda: None).start()
    assert queue.wait("bob", 10)
    assert not queue.wait("alice", 0)
    going.set()
    assert queue.wait("alice", 10)


def test_drain_runs_submitted_jobs_that_were_not_started(queue: BackgroundQueue) -> None:
    done: list[int] = []
    queue.submit("alice", lambda: done.append(1))
    assert queue.drain(10)
    assert done == [1]


def test_first_attempt_completes_before_the_retry_delay(failed: list[BaseException]) -> None:
    queue = BackgroundQueue(failed.append, retry_delays_s=(60.0,))

    def job() -> None:
        raise StoreUnavailable("locked")

    noted = queue.submit("alice", job)
    noted.start()
    noted.first_attempt.result(10)
    assert failed == []
    assert queue.drain(10)
    assert len(failed) == 1
    queue.close()


def test_temporary_failure_is_retried(queue: BackgroundQueue, failed: list[BaseException]) -> None:
    tries: list[int] = []

    def job() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("locked")

    queue.submit("alice", job).start()
    assert queue.wait("alice", 10)
    assert (len(tries), failed) == (3, [])


@pytest.mark.parametrize(
    ("error", "tries"),
    [(StoreUnavailable("locked"), 3), (InvalidInput("x", "y"), 1), (RuntimeError("?"), 1)],
)
def test_permanent_failure_is_reported_and_the_next_job_runs(
    queue: BackgroundQueue, failed: list[BaseException], error: Exception, tries: int
) -> None:
    tried: list[int] = []
    done: list[int] = []

    def job() -> None:
        tried.append(1)
        raise error

    queue.submit("alice", job)
    queue.submit("alice", lambda: done.append(1)).start()
    assert queue.wait("alice", 10)
    assert (failed, len(tried), done) == ([error], tries, [1])


def test_queue_over_its_limit_drops_the_newest_job(
    queue: BackgroundQueue, failed: list[BaseException]
) -> None:
    for _ in range(101):
        queue.submit("alice", lambda: None)
    assert [type(error) for error in failed] == [StoreUnavailable]
    assert queue.drain(10)
