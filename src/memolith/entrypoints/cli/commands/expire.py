"""`memolith expire`."""

from __future__ import annotations

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.commands.upkeep import everybody_option, whose
from memolith.entrypoints.cli.output import counted

EXAMPLE = """
memolith expire
memolith expire --all
"""


@command("expire", example=EXAMPLE)
@everybody_option
def run(call: Call, *, everybody: bool) -> None:
    """Mark memories whose time is up as expired.

    Nothing finds them from their last instant on, marked or not.
    """
    owner = whose(call, everybody=everybody)
    with call.wiring.engine(call.settings()) as engine:
        count = engine.expire(owner=owner)
    call.say(f"{counted(count, 'memory', 'memories')} expired", {"expired": count})
