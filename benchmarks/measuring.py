"""Timing on machines that are shared: taken in turns with something to compare with, medians."""

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
"""Does one round; its number is given."""

COLUMNS = 118
"""Width of the text in documents."""


@dataclass(frozen=True, slots=True)
class Times:
    """How long the rounds of one thing took, in seconds."""

    seconds: Sequence[float]

    def quantile(self, share: float) -> float:
        """Return the time that this share of rounds did not exceed."""
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
        """The quartiles."""
        return self.quantile(0.25), self.quantile(0.75)

    def over(self, other: Times) -> Times:
        """Return the ratios to the rounds of another, round by round."""
        return Times([a / b for a, b in zip(self.seconds, other.seconds, strict=True)])


@dataclass(frozen=True, slots=True)
class Taken:
    """What the rounds of one thing took.

    Attributes:
        wall: Time that passed: what counts where nobody else uses the machine.
        cpu: Processor time, of all threads and of processes that were run: what would have
            passed at least, whoever uses it.
    """

    wall: Times
    cpu: Times


def in_turns(rounds: int, steps: Mapping[str, Step], *, unmeasured: int = 0) -> dict[str, Taken]:
    """Run every step once a round, so that what disturbs one disturbs all; return what it took.

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
    """Return a step that runs a program to its end and checks that it succeeds."""
    return lambda _: output(*arguments)


def output(*arguments: str) -> str:
    """Run a program and return what it prints.

    Python keeps what it has compiled, as an installation does: forbidden to, it would compile every
    module in every process, which is most of what such a process would take.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    kept = {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(arguments, check=True, capture_output=True, text=True, env=kept)  # noqa: S603 - programs of ours
    return done.stdout


def progress(what: str) -> None:
    """Say what is going on, on stderr."""
    print(what, file=sys.stderr, flush=True)


# --- tables -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """What one part has measured.

    Attributes:
        name: Of the part; its place in the document has it too.
        rows: Dictionaries of the same keys, the columns' heads.
        note: What must be known to read it.
        measured_on: The machine and time; empty: this machine, now.
    """

    name: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    measured_on: str = ""

    @property
    def cells(self) -> list[list[str]]:
        """What stands in it, heads first."""
        heads = list(self.rows[0])
        return [heads, *([_shown(row[head]) for head in heads] for row in self.rows)]

    def markdown(self) -> str:
        """Return the table, its note, and the machine as Markdown."""
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
    """Return the document that tables are to be written into, before they take hours to measure.

    Raises:
        ArgumentTypeError: It is not there, or has no place for a table.
    """
    path = Path(name)
    if not path.is_file() or "<!-- speed:" not in path.read_text():
        raise argparse.ArgumentTypeError(f"{name} is no document with places for tables")
    return path


def report(table: Table, document: Path | None) -> None:
    """Show a table, and write it into its place in a document where one is given."""
    show(table)
    if document is not None:
        document.write_text(written(document.read_text(), table))


def show(table: Table) -> None:
    """Show a table in the terminal."""
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
        raise ValueError(f"the document has no {begin} … {end}")
    return f"{before}{begin}\n{table.markdown()}\n{end}{after}"


def machine() -> str:
    """Return what was measured on, with what, and when."""
    return (
        f"{_processor()}, {cpu_count()} CPUs, load {getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}; {datetime.now(UTC):%Y-%m-%d}"
    )


def _processor() -> str:
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.exists() else []
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.processor() or platform.machine()
