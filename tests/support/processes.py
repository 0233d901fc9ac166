"""Run programs and functions in processes of their own, and kill them.

What takes long to load is loaded once, by a process from which each of these is forked; where there
is no such thing, each loads it anew.
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
"""Takes its orders, and tells numbers by the connection: 0 first, when it begins."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process has ended.

    Attributes:
        told: What it told.
        killed: Whether it was killed, and had not come to its end by then.
    """

    told: Sequence[int]
    killed: bool


@dataclass(frozen=True, slots=True)
class Running:
    """A process that has told that it begins."""

    process: BaseProcess
    telling: Connection

    def told(self) -> Iterator[int]:
        """Yield what it tells until it ends."""
        while True:
            try:
                yield self.telling.recv()
            except (EOFError, OSError):  # an OSError: it was killed in the middle of a number
                return


def started(program: Program, orders: bytes) -> Running:
    """Start a process, and wait until it begins."""
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
    """Start a process, and kill it with SIGKILL unless it ends before; else it must succeed.

    Args:
        program: What it runs.
        orders: What for.
        is_time: Asked again and again from the beginning of the process; the kill comes after it.
        after_s: So long after it.
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
    """Start the process from which others are forked, where there is such a thing."""
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
    """Return an environment in which a program finds what the tests share."""
    folders = [str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def killed(arguments: Sequence[str], after_s: float, *, after_lines: int = 1) -> list[bytes]:
    """Run a Python program and kill it with SIGKILL.

    Args:
        arguments: What stands after the interpreter.
        after_s: So long after it has printed its first lines; that it ends by itself before
            then fails the test.
        after_lines: How many lines those are.

    Returns:
        What it printed; a line that was cut short is left out.
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
