"""`memolith supersede`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import Call, command

EXAMPLE = """
memolith supersede 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 01933b70-02aa-7c33-9d51-7f3e8c0a6b42
"""


@command("supersede", example=EXAMPLE)
@click.argument("old")
@click.argument("new")
def run(call: Call, old: str, new: str) -> None:
    """Let the memory NEW take the place of OLD, which is kept but no longer recalled."""
    with call.memory() as memory:
        retired = memory.supersede(old, new)
    call.say(f"{retired.id} is superseded by {retired.superseded_by}", retired)
