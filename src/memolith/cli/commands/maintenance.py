"""`memolith decay`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from memolith.cli.context import CommandCall, all_owners_option, command, select_owner
from memolith.cli.options import confirm_or_abort, yes_option
from memolith.cli.output import build_table, console, format_count, format_time, print_json
from memolith.services.schedule import JobResult
from memolith.worker.background import run_loop

if TYPE_CHECKING:
    from memolith.api.engine import Memolith
    from memolith.services.work import WorkResult

DECAY_EXAMPLES = """
memolith decay
memolith decay --all --json
"""


@command("decay", example=DECAY_EXAMPLES)
@all_owners_option
def decay_command(call: CommandCall, *, everybody: bool) -> None:
    """Store how strong memories are by now, for those who list them.

    Recall computes strengths as of the instant; `memolith worker` does this at the intervals of the
    profiles. What is stored is never built on: it does not matter how often this is done.
    """
    owner = select_owner(call, everybody=everybody)
    with call.engine_factory.engine(call.load_settings()) as engine:
        weaker = engine.apply_decay(owner=owner)
    call.respond(
        f"{format_count(len(weaker), 'memory', 'memories')} got weaker", {"weaker": weaker}
    )


# --- `memolith cleanup`


CLEANUP_EXAMPLES = """
memolith cleanup --dry-run --below 0.2
memolith cleanup --all
"""


@command("cleanup", example=CLEANUP_EXAMPLES)
@click.option(
    "--below",
    type=click.FloatRange(0.0, 1.0),
    help="The strength under which memories fade; without, the profile's, which may be none.",
)
@click.option("--dry-run", is_flag=True, help="Only count them.")
@all_owners_option
def cleanup_command(
    call: CommandCall, below: float | None, *, dry_run: bool, everybody: bool
) -> None:
    """Let memories fade that are too weak; `memolith restore` brings one back.

    Messages never fade. Profile `standard` lets nothing fade by itself: give --below.
    """
    owner = select_owner(call, everybody=everybody)
    with call.engine_factory.engine(call.load_settings()) as engine:
        count = engine.cleanup(owner=owner, below=below, dry_run=dry_run)
    faded = format_count(count, "memory", "memories")
    sentence = f"{faded} would fade" if dry_run else f"{faded} faded"
    call.respond(sentence, {"faded": count, "dry_run": dry_run})


# --- `memolith expire`


EXPIRE_EXAMPLES = """
memolith expire
memolith expire --all
"""


@command("expire", example=EXPIRE_EXAMPLES)
@all_owners_option
def expire_command(call: CommandCall, *, everybody: bool) -> None:
    """Mark memories whose time is up as expired.

    Nothing finds them from their last instant on, marked or not.
    """
    owner = select_owner(call, everybody=everybody)
    with call.engine_factory.engine(call.load_settings()) as engine:
        count = engine.expire(owner=owner)
    call.respond(f"{format_count(count, 'memory', 'memories')} expired", {"expired": count})


# --- `memolith retain`


RETAIN_EXAMPLES = """
memolith retain 365 --dry-run
memolith retain 90 --all --yes
"""


@command("retain", example=RETAIN_EXAMPLES)
@click.argument("days", type=click.IntRange(min=1))
@click.option("--dry-run", is_flag=True, help="Only count them.")
@all_owners_option
@yes_option
def retain_command(
    call: CommandCall, days: int, *, dry_run: bool, everybody: bool, yes: bool
) -> None:
    """Remove for good what has not been active for DAYS days.

    That is memories that are superseded, expired, faded, evicted or forgotten since, and
    conversations in which nothing was said since. Active memories stay, however old. `memolith
    worker` does this daily where retention_days is set.
    """
    owner = select_owner(call, everybody=everybody)
    if not dry_run:
        confirm_or_abort(
            f"Remove what has not been active for {days} days for good?", is_confirmed=yes
        )
    with call.engine_factory.engine(call.load_settings()) as engine:
        found = engine.retain(days, owner=owner, dry_run=dry_run)
    figures = {
        "memories": sum(each.memories for each in found),
        "sessions": sum(each.sessions for each in found),
        "messages": sum(each.messages for each in found),
        "compacted": all(each.compacted for each in found),
        "dry_run": dry_run,
    }
    what = (
        f"{format_count(figures['memories'], 'memory', 'memories')},"
        f" {format_count(figures['sessions'], 'conversation', 'conversations')}"
        f" of {format_count(figures['messages'], 'message', 'messages')}"
    )
    call.respond(f"{'Would remove' if dry_run else 'Removed for good:'} {what}", figures)


# --- `memolith worker`


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
        {"owners": owners, "dead_letters": parked},
    )


def _make_stop_event() -> threading.Event:
    """Return what is set when the process is asked to stop."""
    stop = threading.Event()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wanted, lambda _number, _frame: stop.set())
    return stop


def _report_work(call: CommandCall, done: JobResult | WorkResult) -> None:
    from memolith.services.work import WorkResult

    if call.as_json:
        print_json(done)
    elif isinstance(done, WorkResult) or done.changed or not done.finished:
        click.echo(_describe_work(done))


def _describe_work(done: JobResult | WorkResult) -> str:
    from memolith.services.work import WorkResult

    if isinstance(done, WorkResult):
        failed = f", {done.failed} failed" if done.failed else ""
        one = _WORK_UNITS[done.work]
        return f"{done.work}: {format_count(done.done, one, f'{one}s')} of {done.owner_id}{failed}"
    left = "" if done.finished else ", not finished"
    changed = format_count(done.changed, "record", "records")
    return f"{done.job}: {changed} of {format_count(done.owners, 'owner', 'owners')} changed{left}"
