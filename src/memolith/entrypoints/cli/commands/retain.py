"""`memolith retain`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.commands.upkeep import all_owners_option, select_owner
from memolith.entrypoints.cli.consent import confirm_or_abort, yes_option
from memolith.entrypoints.cli.output import format_count

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
        "settled": all(each.compacted for each in found),
        "dry_run": dry_run,
    }
    what = (
        f"{format_count(figures['memories'], 'memory', 'memories')},"
        f" {format_count(figures['sessions'], 'conversation', 'conversations')}"
        f" of {format_count(figures['messages'], 'message', 'messages')}"
    )
    call.respond(f"{'Would remove' if dry_run else 'Removed for good:'} {what}", figures)
