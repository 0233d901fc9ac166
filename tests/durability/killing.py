"""Running a program and killing it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

_TESTS = Path(__file__).parents[1]


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
