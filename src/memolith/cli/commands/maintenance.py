"""Commands for maintenance: decay, cleanup, expire, retain and worker."""

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
def decay_command(call: CommandCall, *, all_owners: bool) -> None:
    """Update the stored strengths of memories, for display.

    Recall computes strengths itself and does not depend on this. `memolith worker` does it
    automatically at the profile's interval.
    """
    owner = select_owner(call, all_owners=all_owners)
    with call.engine_factory.engine(call.load_settings()) as engine:
        weakened = engine.apply_decay(owner=owner)
    call.respond(
        f"{format_count(len(weakened), 'memory', 'memories')} became weaker", {"weaker": weakened}
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
    help="Strength below which memories fade.  [default: of the profile]",
)
@click.option("--dry-run", is_flag=True, help="Only count the records.")
@all_owners_option
def cleanup_command(
    call: CommandCall, below: float | None, *, dry_run: bool, all_owners: bool
) -> None:
    """Fade weak memories. `memolith restore` brings back a faded memory.

    Messages never fade. The profile `standard` has no threshold: give --below.
    """
    owner = select_owner(call, all_owners=all_owners)
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
def expire_command(call: CommandCall, *, all_owners: bool) -> None:
    """Mark memories past their expiry as expired.

    Recall excludes them in any case, marked or not.
    """
    owner = select_owner(call, all_owners=all_owners)
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
@click.option("--dry-run", is_flag=True, help="Only count the records.")
@all_owners_option
@yes_option
def retain_command(
    call: CommandCall, days: int, *, dry_run: bool, all_owners: bool, yes: bool
) -> None:
    """Remove records permanently that have been inactive for DAYS days.

    Removes memories that were superseded, expired, faded, evicted or forgotten before, and
    conversations without a message in that time. Active memories stay. `memolith worker` does this
    daily if retention_days is set.
    """
    owner = select_owner(call, all_owners=all_owners)
    if not dry_run:
        confirm_or_abort(f"Remove records inactive for {days} days permanently?", is_confirmed=yes)
    with call.engine_factory.engine(call.load_settings()) as engine:
        results = engine.retain(days, owner=owner, dry_run=dry_run)
    counts = {
        "memories": sum(each.memories for each in results),
        "sessions": sum(each.sessions for each in results),
        "messages": sum(each.messages for each in results),
        "compacted": all(each.compacted for each in results),
        "dry_run": dry_run,
    }
    description = (
        f"{format_count(counts['memories'], 'memory', 'memories')},"
        f" {format_count(counts['sessions'], 'conversation', 'conversations')}"
        f" with {format_count(counts['messages'], 'message', 'messages')}"
    )
    call.respond(f"{'Would remove' if dry_run else 'Removed permanently:'} {description}", counts)


# --- `memolith worker`


WORKER_EXAMPLES = """
memolith worker
memolith worker --once --json
memolith worker status --all
memolith worker retry --owner alice
"""

_POLL_INTERVAL_S = 5.0
"""Interval between checks for work, in seconds: the longest delay of learning. A guess."""

_WORK_UNITS = {"learn": "exchange", "consolidate": "step"}

_STATUS_COLUMNS = ("…owner", ">pending", ">dead letters", "oldest (UTC)", "failed")


@command("worker", example=WORKER_EXAMPLES)
@click.argument("action", type=click.Choice(["run", "status", "retry"]), default="run")
@click.option("--once", is_flag=True, help="Run due work once and exit.")
@all_owners_option
def worker_command(call: CommandCall, action: str, *, once: bool, all_owners: bool) -> None:
    """Run background learning and scheduled jobs until Ctrl-C or SIGTERM.

    A configured language model learns from messages and writes summaries. Scheduled jobs decay,
    expire and fade memories, and remove records after their retention period. Workers serve all
    owners. Concurrent workers run each job once, and take over the jobs of a killed worker.

    "status" shows the owner's pending messages and dead letters: messages whose learning failed too
    often. "retry" makes failed work due at once. --all applies both to all owners.
    """
    if action == "run":
        _run_worker(call, once=once)
        return
    if once:
        raise click.UsageError("--once cannot be combined with status or retry.")
    owner = select_owner(call, all_owners=all_owners)
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        owners = engine.owners() if owner is None else [owner]
        if action == "status":
            _show_status(call, engine, owners)
        else:
            _retry_failed(call, engine, owners)


def _run_worker(call: CommandCall, *, once: bool) -> None:
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        if once:
            results = list(_run_due_work(engine, lambda: False))
            if call.as_json:
                print_json(results)
            else:
                click.echo("\n".join(map(_describe_work, results)) or "Nothing is due.")
            return
        stop = _make_stop_event()
        click.echo("memolith: worker started; stop with Ctrl-C", err=True)
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
    backlogs = {each: engine.owner(each).backlog() for each in owners}
    if call.as_json:
        print_json([{"owner": owner, "backlog": backlog} for owner, backlog in backlogs.items()])
        return
    if any(each.pending_messages for each in backlogs.values()) and not any(
        map(engine.chat_model, owners)
    ):
        click.echo("memolith: no language model is configured; messages stay pending", err=True)
    rows = [
        (
            owner,
            str(each.pending_messages),
            str(each.dead_letters),
            format_time(each.oldest_at) if each.oldest_at else "",
            ", ".join(each.failed_kinds),
        )
        for owner, each in backlogs.items()
        if each.pending_messages or each.dead_letters or each.failed_kinds
    ]
    console().print(build_table(_STATUS_COLUMNS, rows) if rows else "No pending work.")


def _retry_failed(call: CommandCall, engine: Memolith, owners: list[str]) -> None:
    dead_letters = 0
    for owner in owners:
        memory = engine.owner(owner)
        dead_letters += memory.backlog().dead_letters
        memory.retry()
    note = (
        f", including {format_count(dead_letters, 'dead letter', 'dead letters')}"
        if dead_letters
        else ""
    )
    call.respond(
        f"Failed work will be retried{note or '; there are no dead letters'}",
        {"owners": owners, "dead_letters": dead_letters},
    )


def _make_stop_event() -> threading.Event:
    """Return an event that is set on SIGINT or SIGTERM."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    return stop


def _report_work(call: CommandCall, result: JobResult | WorkResult) -> None:
    from memolith.services.work import WorkResult

    if call.as_json:
        print_json(result)
    elif isinstance(result, WorkResult) or result.changed or not result.finished:
        click.echo(_describe_work(result))


def _describe_work(result: JobResult | WorkResult) -> str:
    from memolith.services.work import WorkResult

    if isinstance(result, WorkResult):
        failed = f", {result.failed} failed" if result.failed else ""
        unit = _WORK_UNITS[result.work]
        done = format_count(result.done, unit, f"{unit}s")
        return f"{result.work}: {done} of {result.owner_id}{failed}"
    unfinished = "" if result.finished else ", unfinished"
    changed = format_count(result.changed, "record", "records")
    owners = format_count(result.owners, "owner", "owners")
    return f"{result.job}: {changed} of {owners} changed{unfinished}"
