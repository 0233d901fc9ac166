"""Timing on shared machines: rounds that alternate with a baseline, medians, and tables."""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import cpu_count, environ, getloadavg
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Shown

Step = Callable[[int], object]
"""Runs one round; receives its number."""

COLUMNS = 118
"""Width of text in documents."""


@dataclass(frozen=True, slots=True)
class Times:
    """Durations of rounds, in seconds."""

    seconds: Sequence[float]

    def quantile(self, share: float) -> float:
        """Return the duration that a share of the rounds did not exceed."""
        return float(np.quantile(self.seconds, share))

    @property
    def median(self) -> float:
        """The median."""
        return self.quantile(0.5)

    @property
    def mean(self) -> float:
        """The mean."""
        return float(np.mean(self.seconds))

    @property
    def spread(self) -> tuple[float, float]:
        """First and third quartile."""
        return self.quantile(0.25), self.quantile(0.75)

    def over(self, other: Times) -> Times:
        """Return the ratios to another's rounds, round by round."""
        return Times([a / b for a, b in zip(self.seconds, other.seconds, strict=True)])


@dataclass(frozen=True, slots=True)
class Taken:
    """Durations of the rounds of one step.

    Attributes:
        wall: Wall-clock time, for otherwise idle machines.
        cpu: CPU time of all threads and child processes, a lower bound on any machine.
    """

    wall: Times
    cpu: Times


def in_turns(rounds: int, steps: Mapping[str, Step], *, unmeasured: int = 0) -> dict[str, Taken]:
    """Run every step once a round, so that disturbances affect all, and return their times.

    The first `unmeasured` rounds warm up.
    """
    walls: dict[str, list[float]] = {name: [] for name in steps}
    cpus: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds):
        for name, step in steps.items():
            started, used = perf_counter(), _processor_s()
            step(number)
            walls[name].append(perf_counter() - started)
            cpus[name].append(_processor_s() - used)
    return {
        name: Taken(Times(walls[name][unmeasured:]), Times(cpus[name][unmeasured:]))
        for name in steps
    }


def _processor_s() -> float:
    of_children = getrusage(RUSAGE_CHILDREN)
    return process_time() + of_children.ru_utime + of_children.ru_stime


def process(*arguments: str) -> Step:
    """Return a step that runs a program and checks that it succeeds."""
    return lambda _: output(*arguments)


def output(*arguments: str) -> str:
    """Run a program and return its output.

    Python may write compiled files, as in an installation: otherwise each process would compile
    every module, which would dominate its time.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    kept = {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(arguments, check=True, capture_output=True, text=True, env=kept)  # noqa: S603 - our own programs
    return done.stdout


def progress(what: str) -> None:
    """Print a progress message to stderr."""
    print(what, file=sys.stderr, flush=True)


# --- Tables


@dataclass(frozen=True, slots=True)
class Table:
    """Results of one part.

    Attributes:
        name: Name of the part, and of its place in the document.
        rows: Dictionaries with the same keys, which are the column headings.
        note: Explanation below the table.
        measured_on: Machine and date; empty for this machine and today.
    """

    name: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    measured_on: str = ""

    @property
    def cells(self) -> list[list[str]]:
        """Cells as text, headings first."""
        heads = list(self.rows[0])
        return [heads, *([_shown(row[head]) for head in heads] for row in self.rows)]

    def markdown(self) -> str:
        """Return the table, its note and the machine as Markdown."""
        heads, *rows = self.cells
        lines = [heads, ["---"] * len(heads), *rows]
        table = "\n".join(f"|{'|'.join(line)}|" for line in lines)
        note = textwrap.fill(self.note, COLUMNS, break_long_words=False, break_on_hyphens=False)
        return "\n\n".join(filter(None, (table, note, f"*{self.measured_on or machine()}*")))


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits
    return f"{value:,}" if isinstance(value, int) else str(value)


def ratio(times: Times) -> str:
    """Return a ratio with its quartiles."""
    low, high = times.spread
    return f"{times.median:.3g} ({low:.3g}–{high:.3g})"


def document_of_tables(name: str) -> Path:
    """Return the path of a document with places for tables; called before long measurements.

    Raises:
        ArgumentTypeError: It does not exist, or has no place for a table.
    """
    path = Path(name)
    if not path.is_file() or "<!-- speed:" not in path.read_text():
        raise argparse.ArgumentTypeError(f"{name} is not a document with `<!-- speed:` markers")
    return path


def report(table: Table, document: Path | None) -> None:
    """Show a table, and write it into a document if one is given."""
    show(table)
    if document is not None:
        document.write_text(written(document.read_text(), table))


def show(table: Table) -> None:
    """Print a table in the terminal."""
    heads, *rows = table.cells
    shown = Shown(*heads, title=table.name)
    for row in rows:
        shown.add_row(*row)
    Console().print(shown)


def written(document: str, table: Table) -> str:
    """Return a document with a table in its place.

    Raises:
        ValueError: The document has no place of that name.
    """
    begin, end = f"<!-- speed:{table.name} -->", f"<!-- /speed:{table.name} -->"
    before, found, rest = document.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the document lacks {begin} … {end}")
    return f"{before}{begin}\n{table.markdown()}\n{end}{after}"


def machine() -> str:
    """Return the machine, the Python version and the date."""
    return (
        f"{_processor()}, {cpu_count()} CPUs, load {getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}; {datetime.now(UTC):%Y-%m-%d}"
    )


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.exists() else []
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.processor() or platform.machine()
