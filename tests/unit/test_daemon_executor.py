"""Daemon threads that do not delay the end of the process."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from memolith.services.work import DaemonExecutor

PATIENCE_S = 10.0


def test_submitted_calls_run_and_return_results() -> None:
    with DaemonExecutor(2, "crew") as crew:
        answers = [crew.submit(lambda number=number: number * number) for number in range(20)]  # type: ignore[misc]
    assert [each.result(0) for each in answers] == [number * number for number in range(20)]


def test_exception_is_raised_from_result() -> None:
    def fail() -> None:
        raise ValueError("odd")

    with DaemonExecutor(1, "crew") as crew:
        answer = crew.submit(fail)
        with pytest.raises(ValueError, match="odd"):
            answer.result(PATIENCE_S)


def test_calls_run_concurrently_up_to_limit() -> None:
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


def test_cancelled_call_is_not_run() -> None:
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


def test_process_ends_while_call_is_running() -> None:
    program = (
        "import threading\n"
        "from memolith.services.work import DaemonExecutor\n"
        "began = threading.Event()\n"
        "DaemonExecutor(1, 'crew').submit(lambda: (began.set(), threading.Event().wait()))\n"
        "began.wait()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
