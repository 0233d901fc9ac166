"""`mnemon worker`."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from mnemon.entrypoints.cli.calls import Call, command
from mnemon.entrypoints.cli.output import counted, print_json

if TYPE_CHECKING:
    from mnemon.services.scheduling import Done

EXAMPLE = """
mnemon worker
mnemon worker --once --json
"""


@command("worker", example=EXAMPLE)
@click.option("--once", is_flag=True, help="Do what is due now, and leave.")
def run(call: Call, *, once: bool) -> None:
    """Do scheduled jobs until told to stop (Ctrl-C, SIGTERM): what was begun is left whole.

    Memories get weaker, expire, pass and fade, and what is retained no longer is removed. However
    many workers run, each job is done at its interval, by one of them; one that is killed is
    taken over where it was.
    """
    with call.wiring.engine(call.settings()) as engine:
        if once:
            done = engine.run_jobs()
            if call.as_json:
                print_json(done)
            else:
                click.echo("\n".join(map(_told, done)) or "Nothing is due.")
            return
        from mnemon.workers.loop import work

        stop = _stopping()
        click.echo("mnemon: working; Ctrl-C stops", err=True)
        work(engine.run_jobs, stop, report=lambda each: _report(call, each))


def _stopping() -> threading.Event:
    """Return what is set when the process is asked to stop."""
    stop = threading.Event()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wanted, lambda _number, _frame: stop.set())
    return stop


def _report(call: Call, done: Done) -> None:
    if call.as_json:
        print_json(done)
    elif done.changed or not done.finished:
        click.echo(_told(done))


def _told(done: Done) -> str:
    left = "" if done.finished else ", not finished"
    changed = counted(done.changed, "record", "records")
    return f"{done.job}: {changed} of {counted(done.owners, 'owner', 'owners')} changed{left}"
