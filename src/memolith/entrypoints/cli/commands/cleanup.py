"""`memolith cleanup`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.commands.upkeep import everybody_option, whose
from memolith.entrypoints.cli.output import counted

EXAMPLE = """
memolith cleanup --dry-run --below 0.2
memolith cleanup --all
"""


@command("cleanup", example=EXAMPLE)
@click.option(
    "--below",
    type=click.FloatRange(0.0, 1.0),
    help="The strength under which memories fade; without, the profile's, which may be none.",
)
@click.option("--dry-run", is_flag=True, help="Only count them.")
@everybody_option
def run(call: Call, below: float | None, *, dry_run: bool, everybody: bool) -> None:
    """Let memories fade that are too weak; `memolith restore` brings one back.

    Messages never fade. Profile `standard` lets nothing fade by itself: give --below.
    """
    owner = whose(call, everybody=everybody)
    with call.wiring.engine(call.settings()) as engine:
        count = engine.cleanup(owner=owner, below=below, dry_run=dry_run)
    faded = counted(count, "memory", "memories")
    sentence = f"{faded} would fade" if dry_run else f"{faded} faded"
    call.say(sentence, {"faded": count, "dry_run": dry_run})
