"""`memolith supersede`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command

SUPERSEDE_EXAMPLES = """
memolith supersede 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 01933b70-02aa-7c33-9d51-7f3e8c0a6b42
"""


@command("supersede", example=SUPERSEDE_EXAMPLES)
@click.argument("old")
@click.argument("new")
def supersede_command(call: CommandCall, old: str, new: str) -> None:
    """Let the memory NEW take the place of OLD, which is kept but no longer recalled."""
    with call.open_memory() as memory:
        retired = memory.supersede(old, new)
    call.respond(f"{retired.id} is superseded by {retired.superseded_by}", retired)
