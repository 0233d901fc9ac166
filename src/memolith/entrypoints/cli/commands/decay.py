"""`memolith decay`."""

from __future__ import annotations

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.commands.upkeep import everybody_option, whose
from memolith.entrypoints.cli.output import counted

EXAMPLE = """
memolith decay
memolith decay --all --json
"""


@command("decay", example=EXAMPLE)
@everybody_option
def run(call: Call, *, everybody: bool) -> None:
    """Store how strong memories are by now, for those who list them.

    Recall computes strengths as of the instant; `memolith worker` does this at the intervals of the
    profiles. What is stored is never built on: it does not matter how often this is done.
    """
    owner = whose(call, everybody=everybody)
    with call.wiring.engine(call.settings()) as engine:
        weaker = engine.apply_decay(owner=owner)
    call.say(f"{counted(len(weaker), 'memory', 'memories')} got weaker", {"weaker": weaker})
