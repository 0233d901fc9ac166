"""`memolith purge`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.consent import confirm_or_abort, yes_option
from memolith.entrypoints.cli.output import format_count

PURGE_EXAMPLES = """
memolith purge 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --yes
memolith purge --key units --yes
"""

REMOVAL_PENDING = (
    "The store's log, which another program is reading, or Chroma, which could not be reached,"
    " still holds what was removed: it goes as soon as that can be, or with the next purge."
)


@command("purge", example=PURGE_EXAMPLES)
@click.argument("id", required=False)
@click.option("--key", help="The active memory of this name, instead of an id.")
@yes_option
def purge_command(call: CommandCall, id: str | None, key: str | None, *, yes: bool) -> None:
    """Remove the memory or message ID for good, and the sentence it came from.

    No version of it is left, and nothing brings it back. What was forgotten can be purged too.
    Copies made before, like exports and backups, still have it.
    """
    if (id is None) == (key is None):
        raise click.UsageError("Give either an id or --key.")
    confirm_or_abort(f"Remove {id or key} for good?", is_confirmed=yes)
    with call.open_memory() as memory:
        gone = memory.purge(id, key=key)
    lines = [
        f"Removed for good: {format_count(len(gone.memories), 'memory', 'memories')}",
        f"Messages changed or removed: {len(gone.messages)}",
        *(f"  {each}" for each in (*gone.memories, *gone.messages)),
        *([] if gone.compacted else [REMOVAL_PENDING]),
    ]
    call.respond("\n".join(lines), gone)
