"""`memolith forget`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import format_count

FORGET_EXAMPLES = """
memolith forget 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
memolith forget --key units
"""


@command("forget", example=FORGET_EXAMPLES)
@click.argument("id", required=False)
@click.option("--key", help="The memory of this name, instead of an id.")
def forget_command(call: CommandCall, id: str | None, key: str | None) -> None:
    """Make the memory or message ID unfindable, and the sentence it came from.

    Nothing is destroyed: `memolith restore` brings it back.
    """
    if (id is None) == (key is None):
        raise click.UsageError("Give either an id or --key.")
    with call.open_memory() as memory:
        gone = memory.forget(id, key=key)
    lines = [
        f"Forgotten: {format_count(len(gone.memories), 'memory', 'memories')}",
        f"Messages changed: {len(gone.messages)}",
        *(f"  {each}" for each in (*gone.memories, *gone.messages)),
    ]
    call.respond("\n".join(lines), gone)
