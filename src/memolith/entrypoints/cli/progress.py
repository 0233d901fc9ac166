"""Progress of what takes longer than a second, on stderr and on a terminal only."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress


@contextmanager
def growing_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while the block runs, of work whose extent shows meanwhile.

    Args:
        title: What is being done.

    Yields:
        What to call with the number of steps done since the last call, and of all there are.
    """
    if not sys.stderr.isatty():
        yield lambda _steps, _total: None
        return
    with _make_progress_bar() as bar:
        task = bar.add_task(title, total=None)
        yield lambda steps, total: bar.update(task, advance=steps, total=total)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar while the block runs.

    Args:
        title: What is being done.
        total: How many steps it takes, where that is known.

    Yields:
        What to call with the number of steps done since the last call.
    """
    if not sys.stderr.isatty():
        yield lambda _steps: None
        return
    with _make_progress_bar() as bar:
        task = bar.add_task(title, total=total)
        yield lambda steps: bar.advance(task, steps)


def _make_progress_bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
