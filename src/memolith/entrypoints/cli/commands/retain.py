"""`memolith retain`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.commands.upkeep import everybody_option, whose
from memolith.entrypoints.cli.consent import consent, yes_option
from memolith.entrypoints.cli.output import counted

EXAMPLE = """
memolith retain 365 --dry-run
memolith retain 90 --all --yes
"""


@command("retain", example=EXAMPLE)
@click.argument("days", type=click.IntRange(min=1))
@click.option("--dry-run", is_flag=True, help="Only count them.")
@everybody_option
@yes_option
def run(call: Call, days: int, *, dry_run: bool, everybody: bool, yes: bool) -> None:
    """Remove for good what has not been active for DAYS days.

    That is memories that are superseded, expired, faded, evicted or forgotten since, and
    conversations in which nothing was said since. Active memories stay, however old. `memolith
    worker` does this daily where retention_days is set.
    """
    owner = whose(call, everybody=everybody)
    if not dry_run:
        consent(f"Remove what has not been active for {days} days for good?", given=yes)
    with call.wiring.engine(call.settings()) as engine:
        found = engine.retain(days, owner=owner, dry_run=dry_run)
    figures = {
        "memories": sum(each.memories for each in found),
        "sessions": sum(each.sessions for each in found),
        "messages": sum(each.messages for each in found),
        "settled": all(each.settled for each in found),
        "dry_run": dry_run,
    }
    what = (
        f"{counted(figures['memories'], 'memory', 'memories')},"
        f" {counted(figures['sessions'], 'conversation', 'conversations')}"
        f" of {counted(figures['messages'], 'message', 'messages')}"
    )
    call.say(f"{'Would remove' if dry_run else 'Removed for good:'} {what}", figures)
