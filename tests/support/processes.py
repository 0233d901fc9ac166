"""Run programs and functions in separate processes, and kill them.

Where fork servers exist, processes are forked from one that has imported everything.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]
_IS_QUICK = "forkserver" in multiprocessing.get_all_start_methods()
_CONTEXT = (
    multiprocessing.get_context("forkserver") if _IS_QUICK else multiprocessing.get_context("spawn")
)

_LOOK_S = 0.002

Program = Callable[[bytes, Connection], None]
"""Receives its parameters, and reports numbers through the connection, starting with 0."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Result of a process.

    Attributes:
        told: Reported numbers.
        killed: Whether it was killed before it ended.
    """

    told: Sequence[int]
    killed: bool


@dataclass(frozen=True, slots=True)
class Running:
    """A process that has reported its start."""

    process: BaseProcess
    telling: Connection

    def told(self) -> Iterator[int]:
        """Yield the reported numbers until the process ends."""
        while True:
            try:
                yield self.telling.recv()
            except (EOFError, OSError):  # OSError: killed while sending a number
                return


def started(program: Program, orders: bytes) -> Running:
    """Start a process and wait for its first report."""
    _get_ready()
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=program, args=(orders, theirs), daemon=True)
    process.start()
    theirs.close()
    assert ours.recv() == 0
    return Running(process, ours)


def killed_at(
    program: Program, orders: bytes, is_time: Callable[[], bool], after_s: float
) -> Ended:
    """Start a process and kill it with SIGKILL, unless it succeeds before.

    Args:
        program: Function to run.
        orders: Its parameters.
        is_time: Polled from the start of the process; the kill follows once it returns True.
        after_s: Delay of the kill in seconds.
    """
    running = started(program, orders)
    process = running.process
    while process.is_alive() and not is_time():
        time.sleep(_LOOK_S)
    process.join(after_s)
    is_killed = process.is_alive()
    process.kill()
    told = list(running.told())
    process.join()
    assert is_killed or process.exitcode == 0
    return Ended(told, is_killed)


@cache
def _get_ready() -> None:
    """Start the fork server, where available."""
    if not _IS_QUICK:
        return
    from multiprocessing import forkserver

    _CONTEXT.set_forkserver_preload(
        ["support.durability.learning_process", "support.durability.preload"]
    )
    before = os.environ.get("PYTHONPATH")
    os.environ |= environment()
    forkserver.ensure_running()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def environment() -> dict[str, str]:
    """Return an environment in which programs can import the test support."""
    folders = [str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def killed(arguments: Sequence[str], after_s: float, *, after_lines: int = 1) -> list[bytes]:
    """Run a Python program and kill it with SIGKILL.

    Args:
        arguments: Arguments of the interpreter.
        after_s: Delay of the kill after the first lines of output; an earlier end fails the test.
        after_lines: Number of those lines.

    Returns:
        Complete lines of its output.
    """
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(after_lines)]
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(after_s)
        finally:
            process.kill()
        lines += process.stdout.readlines()
    return [line for line in lines if line.endswith(b"\n")]
