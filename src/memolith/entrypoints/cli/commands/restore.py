"""`memolith restore`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command

RESTORE_EXAMPLES = """
memolith restore 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
"""


@command("restore", example=RESTORE_EXAMPLES)
@click.argument("id")
def restore_command(call: CommandCall, id: str) -> None:
    """Bring the memory or message ID back: undo a forgetting or a supersession."""
    with call.open_memory() as memory:
        restored = memory.restore(id)
    call.respond(f"Restored {restored.id}", restored)
