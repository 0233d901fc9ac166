"""`memolith show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.domain.memories import Memory
from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import console, print_json
from memolith.entrypoints.cli.records import show_memory, show_message
from memolith.errors import NotFound

if TYPE_CHECKING:
    from memolith.domain.messages import Message
    from memolith.owner import OwnerMemory

SHOW_EXAMPLES = """
memolith show 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
"""


@command("show", example=SHOW_EXAMPLES)
@click.argument("id")
def show_command(call: CommandCall, id: str) -> None:
    """Show the memory or message ID in full, whatever its state; a forgotten one without words."""
    with call.open_memory() as memory:
        record = _get_record(memory, id)
    if call.as_json:
        print_json(record)
    elif isinstance(record, Memory):
        show_memory(console(), record)
    else:
        show_message(console(), record)


def _get_record(memory: OwnerMemory, id_: str) -> Memory | Message:
    try:
        return memory.get(id_)
    except NotFound:
        pass
    try:
        return memory.message(id_)
    except NotFound as error:
        raise NotFound("memory or message", error.id) from None
