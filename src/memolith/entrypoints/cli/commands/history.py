"""`memolith history`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, moment, print_json, table
from memolith.entrypoints.cli.records import said

if TYPE_CHECKING:
    from memolith.domain.memories import Event

EXAMPLE = """
memolith history 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
memolith history --key units
"""


@command("history", example=EXAMPLE)
@click.argument("id", required=False)
@click.option("--key", help="The memory of this name, instead of an id.")
def run(call: Call, id: str | None, key: str | None) -> None:
    """Show the versions of the memory ID, and what was done to it by whom."""
    if (id is None) == (key is None):
        raise click.UsageError("Give either an id or --key.")
    with call.memory() as memory:
        history = memory.history(id, key=key)
    if call.as_json:
        print_json(history)
        return
    versions = (
        (each.memory.version, moment(each.valid_from), moment(each.valid_to), said(each.memory))
        for each in history.versions
    )
    events = (
        (moment(each.at), each.action.value, each.by, each.version, _details(each))
        for each in history.events
    )
    out = console()
    out.print(table((">version", "from (UTC)", "to", "…memory"), versions))
    out.print(table(("at (UTC)", "what", "by", ">version", "…details"), events))


def _details(event: Event) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(event.details.items()))
