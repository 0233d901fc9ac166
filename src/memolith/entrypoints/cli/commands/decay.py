"""`memolith decay`."""

from __future__ import annotations

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.commands.upkeep import all_owners_option, select_owner
from memolith.entrypoints.cli.output import format_count

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
