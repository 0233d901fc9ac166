"""`memolith cleanup`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.commands.upkeep import all_owners_option, select_owner
from memolith.entrypoints.cli.output import format_count

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
