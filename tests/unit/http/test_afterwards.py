"""What is done after a reply: in order, each owner's by itself, and all of it before the end."""

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
def afterwards(failed: list[BaseException]) -> Iterator[BackgroundQueue]:
    made = BackgroundQueue(failed.append, retry_delays_s=(0.01, 0.01), max_pending=100)
    yield made
    made.close()


def test_what_is_noted_is_waited_for_and_done_once_it_is_begun(afterwards: BackgroundQueue) -> None:
    done: list[int] = []
    noted = afterwards.submit("alice", lambda: done.append(1))
    assert not afterwards.wait("alice", 0)
    assert done == []
    assert not noted.first_attempt.done()
    noted.start()
    assert afterwards.wait("alice", 10)
    assert done == [1]
    assert noted.first_attempt.done()


def test_an_owners_are_done_in_their_order(afterwards: BackgroundQueue) -> None:
    done: list[int] = []
    every = [afterwards.submit("alice", lambda n=n: done.append(n)) for n in range(50)]  # type: ignore[misc] # mypy reads no defaults of lambdas
    for noted in reversed(every):
        noted.start()
    assert afterwards.drain(10)
    assert done == list(range(50))


def test_one_owner_does_not_wait_for_another(afterwards: BackgroundQueue) -> None:
    going = threading.Event()

    def wait() -> None:
        going.wait(10)

    afterwards.submit("alice", wait).start()
    afterwards.submit("bob", lambda: None).start()
    assert afterwards.wait("bob", 10)
    assert not afterwards.wait("alice", 0)
    going.set()
    assert afterwards.wait("alice", 10)


def test_the_end_waits_for_what_was_noted_too(afterwards: BackgroundQueue) -> None:
    done: list[int] = []
    afterwards.submit("alice", lambda: done.append(1))
    assert afterwards.drain(10)
    assert done == [1]


def test_nobody_waits_while_it_is_tried_again(failed: list[BaseException]) -> None:
    afterwards = BackgroundQueue(failed.append, retry_delays_s=(60.0,))

    def job() -> None:
        raise StoreUnavailable("locked")

    noted = afterwards.submit("alice", job)
    noted.start()
    noted.first_attempt.result(10)
    assert failed == []
    assert afterwards.drain(10)
    assert len(failed) == 1
    afterwards.close()


def test_what_may_pass_is_tried_again(
    afterwards: BackgroundQueue, failed: list[BaseException]
) -> None:
    tries: list[int] = []

    def job() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("locked")

    afterwards.submit("alice", job).start()
    assert afterwards.wait("alice", 10)
    assert (len(tries), failed) == (3, [])


@pytest.mark.parametrize(
    ("error", "tries"),
    [(StoreUnavailable("locked"), 3), (InvalidInput("x", "y"), 1), (RuntimeError("?"), 1)],
)
def test_what_does_not_is_told_and_the_next_is_done(
    afterwards: BackgroundQueue, failed: list[BaseException], error: Exception, tries: int
) -> None:
    tried: list[int] = []
    done: list[int] = []

    def job() -> None:
        tried.append(1)
        raise error

    afterwards.submit("alice", job)
    afterwards.submit("alice", lambda: done.append(1)).start()
    assert afterwards.wait("alice", 10)
    assert (failed, len(tried), done) == ([error], tries, [1])


def test_of_too_much_the_last_is_given_up(
    afterwards: BackgroundQueue, failed: list[BaseException]
) -> None:
    for _ in range(101):
        afterwards.submit("alice", lambda: None)
    assert [type(error) for error in failed] == [StoreUnavailable]
    assert afterwards.drain(10)
