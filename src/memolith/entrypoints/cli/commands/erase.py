"""`memolith erase`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.commands.purge import UNSETTLED
from memolith.entrypoints.cli.consent import consent, yes_option

EXAMPLE = """
memolith erase --owner alice --yes
memolith erase --owner alice --readmit
"""


@command("erase", example=EXAMPLE)
@yes_option
@click.option("--readmit", is_flag=True, help="Let the erased owner begin again, with nothing.")
def run(call: Call, *, yes: bool, readmit: bool) -> None:
    """Remove everything of the owner named by --owner for good, and the owner's key.

    Nothing is stored for that owner again, and a backup that is restored comes back without
    them, until --readmit allows it.
    """
    if "owner" not in call.given:
        raise click.UsageError("Name the owner with --owner.")
    if not readmit:
        consent(f"Remove everything of {call.owner} for good?", given=yes)
    with call.wiring.engine(call.settings()) as engine:
        if readmit:
            engine.readmit(call.owner)
            call.say(f"{call.owner} may begin again", {"owner_id": call.owner})
            return
        done = engine.erase(call.owner)
    said = f"Everything of {call.owner} is removed for good"
    call.say(said if done.settled else f"{said}\n{UNSETTLED}", done)
