"""`memolith history`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, format_time, print_json
from memolith.entrypoints.cli.records import get_display_text

if TYPE_CHECKING:
    from memolith.domain.memories import Event

HISTORY_EXAMPLES = """
memolith history 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
memolith history --key units
"""


@command("history", example=HISTORY_EXAMPLES)
@click.argument("id", required=False)
@click.option("--key", help="The memory of this name, instead of an id.")
def history_command(call: CommandCall, id: str | None, key: str | None) -> None:
    """Show the versions of the memory ID, and what was done to it by whom."""
    if (id is None) == (key is None):
        raise click.UsageError("Give either an id or --key.")
    with call.open_memory() as memory:
        history = memory.history(id, key=key)
    if call.as_json:
        print_json(history)
        return
    versions = (
        (
            each.memory.version,
            format_time(each.valid_from),
            format_time(each.valid_to),
            get_display_text(each.memory),
        )
        for each in history.versions
    )
    events = (
        (format_time(each.at), each.action.value, each.actor, each.version, _format_details(each))
        for each in history.events
    )
    out = console()
    out.print(build_table((">version", "from (UTC)", "to", "…memory"), versions))
    out.print(build_table(("at (UTC)", "what", "by", ">version", "…details"), events))


def _format_details(event: Event) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(event.details.items()))
