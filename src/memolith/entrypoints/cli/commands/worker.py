"""`memolith worker`."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.commands.upkeep import everybody_option, whose
from memolith.entrypoints.cli.output import console, counted, moment, print_json, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memolith.engine import Memolith
    from memolith.services.scheduling import Done
    from memolith.services.working import Worked

EXAMPLE = """
memolith worker
memolith worker --once --json
memolith worker status --all
memolith worker retry --owner alice
"""

_POLL_S = 5.0
"""How often it looks for work, in seconds: so long an exchange waits. A guess."""

_UNITS = {"learn": "exchange", "consolidate": "step"}

_COLUMNS = ("…owner", ">waiting", ">parked", "oldest", "stuck")


@command("worker", example=EXAMPLE)
@click.argument("action", type=click.Choice(["run", "status", "retry"]), default="run")
@click.option("--once", is_flag=True, help="Do what is due now, and leave.")
@everybody_option
def run(call: Call, action: str, *, once: bool, everybody: bool) -> None:
    """Do what is due until told to stop (Ctrl-C, SIGTERM): what was begun is left whole.

    With a language model, it learns from what was said and writes summaries. Memories get weaker,
    expire, pass and fade, and what is retained no longer is removed. However many workers run, each
    thing is done once, at its time; a worker that is killed is taken over where it was. It works
    for all owners.

    "status" shows what waits for the owner, and what failed too often and is parked; "retry" lets
    that be tried again at once. With --all, of everybody.
    """
    if action == "run":
        _run(call, once=once)
        return
    if once:
        raise click.UsageError("--once goes with running only.")
    owner = whose(call, everybody=everybody)
    with call.wiring.engine(call.settings(), worker=False) as engine:
        owners = engine.owners() if owner is None else [owner]
        if action == "status":
            _status(call, engine, owners)
        else:
            _retry(call, engine, owners)


def _run(call: Call, *, once: bool) -> None:
    with call.wiring.engine(call.settings(), worker=False) as engine:
        if once:
            done = list(_due(engine, lambda: False))
            if call.as_json:
                print_json(done)
            else:
                click.echo("\n".join(map(_told, done)) or "Nothing is due.")
            return
        from memolith.workers.loop import work

        stop = _stopping()
        click.echo("memolith: working; Ctrl-C stops", err=True)
        work(
            lambda stopped: _due(engine, stopped),
            stop,
            poll_s=_POLL_S,
            report=lambda each: _report(call, each),
        )


def _due(engine: Memolith, stopped: Callable[[], bool]) -> Iterator[Done | Worked]:
    yield from engine.work(stopped)
    if not stopped():
        yield from engine.run_jobs(stopped)


def _status(call: Call, engine: Memolith, owners: list[str]) -> None:
    found = {each: engine.owner(each).backlog() for each in owners}
    if call.as_json:
        print_json([{"owner": owner, "backlog": backlog} for owner, backlog in found.items()])
        return
    if any(each.waiting for each in found.values()) and not any(map(engine.chat_model, owners)):
        click.echo("memolith: no language model is configured: what waits, waits for one", err=True)
    rows = [
        (
            owner,
            str(each.waiting),
            str(each.parked),
            moment(each.oldest) if each.oldest else "",
            ", ".join(each.stuck),
        )
        for owner, each in found.items()
        if each.waiting or each.parked or each.stuck
    ]
    console().print(table(_COLUMNS, rows) if rows else "Nothing waits.")


def _retry(call: Call, engine: Memolith, owners: list[str]) -> None:
    parked = 0
    for owner in owners:
        memory = engine.owner(owner)
        parked += memory.backlog().parked
        memory.retry()
    were = f"{counted(parked, 'message was', 'messages were')} parked" if parked else ""
    call.say(
        f"What failed is tried again: {were or 'nothing was parked'}",
        {"owners": owners, "parked": parked},
    )


def _stopping() -> threading.Event:
    """Return what is set when the process is asked to stop."""
    stop = threading.Event()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wanted, lambda _number, _frame: stop.set())
    return stop


def _report(call: Call, done: Done | Worked) -> None:
    from memolith.services.working import Worked

    if call.as_json:
        print_json(done)
    elif isinstance(done, Worked) or done.changed or not done.finished:
        click.echo(_told(done))


def _told(done: Done | Worked) -> str:
    from memolith.services.working import Worked

    if isinstance(done, Worked):
        failed = f", {done.failed} failed" if done.failed else ""
        one = _UNITS[done.work]
        return f"{done.work}: {counted(done.done, one, f'{one}s')} of {done.owner_id}{failed}"
    left = "" if done.finished else ", not finished"
    changed = counted(done.changed, "record", "records")
    return f"{done.job}: {changed} of {counted(done.owners, 'owner', 'owners')} changed{left}"
