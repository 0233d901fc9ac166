"""A fair semaphore serves waiters in order of arrival, with limited concurrency."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest

from memolith.adapters.sql.connection import FairSemaphore

_PATIENCE_S = 30.0


def wait_for(turns: FairSemaphore, waiting: int) -> None:
    while len(turns._waiters) < waiting:
        sleep(0.001)


@pytest.mark.parametrize("places", [1, 3])
def test_longest_waiter_is_served_first(places: int) -> None:
    turns = FairSemaphore(places)
    for _ in range(places):
        assert turns.acquire(0)
    served: list[int] = []

    def serve(number: int) -> None:
        assert turns.acquire(_PATIENCE_S)
        served.append(number)
        turns.release()

    with ThreadPoolExecutor(6) as threads:
        for number in range(6):
            threads.submit(serve, number)
            wait_for(turns, number + 1)
        turns.release()
    assert served == list(range(6))


def test_releaser_does_not_overtake_waiter() -> None:
    turns = FairSemaphore(1)
    assert turns.acquire(0)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(turns.acquire, _PATIENCE_S)
        wait_for(turns, 1)
        turns.release()
        assert not turns.acquire(0)
        assert waiting.result(_PATIENCE_S)


def test_timed_out_waiter_takes_no_slot() -> None:
    turns = FairSemaphore(1)
    assert turns.acquire(0)
    assert not turns.acquire(0.01)
    turns.release()
    assert turns.acquire(0)
    assert not turns.acquire(0)


def test_concurrency_never_exceeds_number_of_slots() -> None:
    turns, lock = FairSemaphore(2), threading.Lock()
    inside, most = 0, 0

    def enter(_: int) -> None:
        nonlocal inside, most
        assert turns.acquire(_PATIENCE_S)
        with lock:
            inside += 1
            most = max(most, inside)
        sleep(0.0001)
        with lock:
            inside -= 1
        turns.release()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(enter, range(200)))
    assert most == 2
