"""`memolith expire`."""

from __future__ import annotations

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.commands.upkeep import all_owners_option, select_owner
from memolith.entrypoints.cli.output import format_count

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
