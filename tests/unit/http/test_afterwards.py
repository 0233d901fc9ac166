"""What is done after a reply: in order, each owner's by itself, and all of it before the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from memolith.entrypoints.http.proxying.afterwards import Afterwards
from memolith.errors import InvalidInput, StoreUnavailable


@pytest.fixture
def failed() -> list[BaseException]:
    return []


@pytest.fixture
def afterwards(failed: list[BaseException]) -> Iterator[Afterwards]:
    made = Afterwards(failed.append, waits_s=(0.01, 0.01), most=100)
    yield made
    made.close()


def test_what_is_noted_is_waited_for_and_done_once_it_is_begun(afterwards: Afterwards) -> None:
    done: list[int] = []
    noted = afterwards.put("alice", lambda: done.append(1))
    assert not afterwards.wait("alice", 0)
    assert done == []
    assert not noted.tried.done()
    noted.begin()
    assert afterwards.wait("alice", 10)
    assert done == [1]
    assert noted.tried.done()


def test_an_owners_are_done_in_their_order(afterwards: Afterwards) -> None:
    done: list[int] = []
    every = [afterwards.put("alice", lambda n=n: done.append(n)) for n in range(50)]  # type: ignore[misc] # mypy reads no defaults of lambdas
    for noted in reversed(every):
        noted.begin()
    assert afterwards.drain(10)
    assert done == list(range(50))


def test_one_owner_does_not_wait_for_another(afterwards: Afterwards) -> None:
    going = threading.Event()

    def wait() -> None:
        going.wait(10)

    afterwards.put("alice", wait).begin()
    afterwards.put("bob", lambda: None).begin()
    assert afterwards.wait("bob", 10)
    assert not afterwards.wait("alice", 0)
    going.set()
    assert afterwards.wait("alice", 10)


def test_the_end_waits_for_what_was_noted_too(afterwards: Afterwards) -> None:
    done: list[int] = []
    afterwards.put("alice", lambda: done.append(1))
    assert afterwards.drain(10)
    assert done == [1]


def test_nobody_waits_while_it_is_tried_again(failed: list[BaseException]) -> None:
    afterwards = Afterwards(failed.append, waits_s=(60.0,))

    def job() -> None:
        raise StoreUnavailable("locked")

    noted = afterwards.put("alice", job)
    noted.begin()
    noted.tried.result(10)
    assert failed == []
    assert afterwards.drain(10)
    assert len(failed) == 1
    afterwards.close()


def test_what_may_pass_is_tried_again(afterwards: Afterwards, failed: list[BaseException]) -> None:
    tries: list[int] = []

    def job() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("locked")

    afterwards.put("alice", job).begin()
    assert afterwards.wait("alice", 10)
    assert (len(tries), failed) == (3, [])


@pytest.mark.parametrize(
    ("error", "tries"),
    [(StoreUnavailable("locked"), 3), (InvalidInput("x", "y"), 1), (RuntimeError("?"), 1)],
)
def test_what_does_not_is_told_and_the_next_is_done(
    afterwards: Afterwards, failed: list[BaseException], error: Exception, tries: int
) -> None:
    tried: list[int] = []
    done: list[int] = []

    def job() -> None:
        tried.append(1)
        raise error

    afterwards.put("alice", job)
    afterwards.put("alice", lambda: done.append(1)).begin()
    assert afterwards.wait("alice", 10)
    assert (failed, len(tried), done) == ([error], tries, [1])


def test_of_too_much_the_last_is_given_up(
    afterwards: Afterwards, failed: list[BaseException]
) -> None:
    for _ in range(101):
        afterwards.put("alice", lambda: None)
    assert [type(error) for error in failed] == [StoreUnavailable]
    assert afterwards.drain(10)
