"""Threads that a process that ends does not wait for."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from memolith.services.work import DaemonExecutor

PATIENCE_S = 10.0


def test_what_is_given_is_done_and_its_result_told() -> None:
    with DaemonExecutor(2, "crew") as crew:
        answers = [crew.submit(lambda number=number: number * number) for number in range(20)]  # type: ignore[misc]
    assert [each.result(0) for each in answers] == [number * number for number in range(20)]


def test_what_is_raised_is_raised_where_the_result_is_asked_for() -> None:
    def fails() -> None:
        raise ValueError("odd")

    with DaemonExecutor(1, "crew") as crew:
        answer = crew.submit(fails)
        with pytest.raises(ValueError, match="odd"):
            answer.result(PATIENCE_S)


def test_so_many_are_done_at_once_and_no_more() -> None:
    together = threading.Barrier(3, timeout=PATIENCE_S)
    lock, running, most = threading.Lock(), [0], [0]

    def meet() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait()
        with lock:
            running[0] -= 1

    with DaemonExecutor(3, "crew") as crew:
        answers = [crew.submit(meet) for _ in range(9)]
    assert all(each.exception(0) is None for each in answers)
    assert most == [3]


def test_what_was_taken_back_before_it_began_is_not_done() -> None:
    goes_on, done = threading.Event(), []

    with DaemonExecutor(1, "crew") as crew:
        first = crew.submit(lambda: goes_on.wait(PATIENCE_S))
        second = crew.submit(lambda: done.append(2))
        third = crew.submit(lambda: done.append(3))
        assert second.cancel()
        goes_on.set()
        assert first.result(PATIENCE_S)
        third.result(PATIENCE_S)
    assert done == [3]
    with pytest.raises(CancelledError):
        second.result(0)


def test_a_process_ends_while_one_of_them_is_still_at_work() -> None:
    program = (
        "import threading\n"
        "from memolith.services.work import DaemonExecutor\n"
        "began = threading.Event()\n"
        "DaemonExecutor(1, 'crew').submit(lambda: (began.set(), threading.Event().wait()))\n"
        "began.wait()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
