"""`memolith restore`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import Call, command

EXAMPLE = """
memolith restore 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
"""


@command("restore", example=EXAMPLE)
@click.argument("id")
def run(call: Call, id: str) -> None:
    """Bring the memory or message ID back: undo a forgetting or a supersession."""
    with call.memory() as memory:
        restored = memory.restore(id)
    call.say(f"Restored {restored.id}", restored)
