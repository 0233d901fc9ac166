"""`memolith erase`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.commands.purge import REMOVAL_PENDING
from memolith.entrypoints.cli.consent import confirm_or_abort, yes_option

ERASE_EXAMPLES = """
memolith erase --owner alice --yes
memolith erase --owner alice --readmit
"""


@command("erase", example=ERASE_EXAMPLES)
@yes_option
@click.option("--readmit", is_flag=True, help="Let the erased owner begin again, with nothing.")
def erase_command(call: CommandCall, *, yes: bool, readmit: bool) -> None:
    """Remove everything of the owner named by --owner for good, and the owner's key.

    Nothing is stored for that owner again, and a backup that is restored comes back without
    them, until --readmit allows it.
    """
    if "owner" not in call.options:
        raise click.UsageError("Name the owner with --owner.")
    if not readmit:
        confirm_or_abort(f"Remove everything of {call.owner} for good?", is_confirmed=yes)
    with call.engine_factory.engine(call.load_settings()) as engine:
        if readmit:
            engine.readmit(call.owner)
            call.respond(f"{call.owner} may begin again", {"owner_id": call.owner})
            return
        done = engine.erase(call.owner)
    said = f"Everything of {call.owner} is removed for good"
    call.respond(said if done.compacted else f"{said}\n{REMOVAL_PENDING}", done)
