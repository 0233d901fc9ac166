"""`memolith worker`."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.commands.upkeep import all_owners_option, select_owner
from memolith.entrypoints.cli.output import (
    build_table,
    console,
    format_count,
    format_time,
    print_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memolith.engine import Memolith
    from memolith.services.scheduling import JobResult
    from memolith.services.working import WorkResult

WORKER_EXAMPLES = """
memolith worker
memolith worker --once --json
memolith worker status --all
memolith worker retry --owner alice
"""

_POLL_INTERVAL_S = 5.0
"""How often it looks for work, in seconds: so long an exchange waits. A guess."""

_WORK_UNITS = {"learn": "exchange", "consolidate": "step"}

_STATUS_COLUMNS = ("…owner", ">waiting", ">parked", "oldest", "stuck")


@command("worker", example=WORKER_EXAMPLES)
@click.argument("action", type=click.Choice(["run", "status", "retry"]), default="run")
@click.option("--once", is_flag=True, help="Do what is due now, and leave.")
@all_owners_option
def worker_command(call: CommandCall, action: str, *, once: bool, everybody: bool) -> None:
    """Do what is due until told to stop (Ctrl-C, SIGTERM): what was begun is left whole.

    With a language model, it learns from what was said and writes summaries. Memories get weaker,
    expire, pass and fade, and what is retained no longer is removed. However many workers run, each
    thing is done once, at its time; a worker that is killed is taken over where it was. It works
    for all owners.

    "status" shows what waits for the owner, and what failed too often and is parked; "retry" lets
    that be tried again at once. With --all, of everybody.
    """
    if action == "run":
        _run_worker(call, once=once)
        return
    if once:
        raise click.UsageError("--once goes with running only.")
    owner = select_owner(call, everybody=everybody)
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        owners = engine.owners() if owner is None else [owner]
        if action == "status":
            _show_status(call, engine, owners)
        else:
            _retry_failed(call, engine, owners)


def _run_worker(call: CommandCall, *, once: bool) -> None:
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        if once:
            done = list(_run_due_work(engine, lambda: False))
            if call.as_json:
                print_json(done)
            else:
                click.echo("\n".join(map(_describe_work, done)) or "Nothing is due.")
            return
        from memolith.workers.loop import run_loop

        stop = _make_stop_event()
        click.echo("memolith: working; Ctrl-C stops", err=True)
        run_loop(
            lambda stopped: _run_due_work(engine, stopped),
            stop,
            poll_s=_POLL_INTERVAL_S,
            on_result=lambda each: _report_work(call, each),
        )


def _run_due_work(
    engine: Memolith, should_stop: Callable[[], bool]
) -> Iterator[JobResult | WorkResult]:
    yield from engine.work(should_stop)
    if not should_stop():
        yield from engine.run_jobs(should_stop)


def _show_status(call: CommandCall, engine: Memolith, owners: list[str]) -> None:
    found = {each: engine.owner(each).backlog() for each in owners}
    if call.as_json:
        print_json([{"owner": owner, "backlog": backlog} for owner, backlog in found.items()])
        return
    if any(each.pending_messages for each in found.values()) and not any(
        map(engine.chat_model, owners)
    ):
        click.echo("memolith: no language model is configured: what waits, waits for one", err=True)
    rows = [
        (
            owner,
            str(each.pending_messages),
            str(each.dead_letters),
            format_time(each.oldest_at) if each.oldest_at else "",
            ", ".join(each.failed_kinds),
        )
        for owner, each in found.items()
        if each.pending_messages or each.dead_letters or each.failed_kinds
    ]
    console().print(build_table(_STATUS_COLUMNS, rows) if rows else "Nothing waits.")


def _retry_failed(call: CommandCall, engine: Memolith, owners: list[str]) -> None:
    parked = 0
    for owner in owners:
        memory = engine.owner(owner)
        parked += memory.backlog().dead_letters
        memory.retry()
    were = f"{format_count(parked, 'message was', 'messages were')} parked" if parked else ""
    call.respond(
        f"What failed is tried again: {were or 'nothing was parked'}",
        {"owners": owners, "parked": parked},
    )


def _make_stop_event() -> threading.Event:
    """Return what is set when the process is asked to stop."""
    stop = threading.Event()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wanted, lambda _number, _frame: stop.set())
    return stop


def _report_work(call: CommandCall, done: JobResult | WorkResult) -> None:
    from memolith.services.working import WorkResult

    if call.as_json:
        print_json(done)
    elif isinstance(done, WorkResult) or done.changed or not done.finished:
        click.echo(_describe_work(done))


def _describe_work(done: JobResult | WorkResult) -> str:
    from memolith.services.working import WorkResult

    if isinstance(done, WorkResult):
        failed = f", {done.failed} failed" if done.failed else ""
        one = _WORK_UNITS[done.work]
        return f"{done.work}: {format_count(done.done, one, f'{one}s')} of {done.owner_id}{failed}"
    left = "" if done.finished else ", not finished"
    changed = format_count(done.changed, "record", "records")
    return f"{done.job}: {changed} of {format_count(done.owners, 'owner', 'owners')} changed{left}"
