"""`memolith consolidate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.commands.upkeep import all_owners_option, select_owner
from memolith.entrypoints.cli.output import format_count

if TYPE_CHECKING:
    from memolith.services.consolidation.staging import ConsolidationResult

CONSOLIDATE_EXAMPLES = """
memolith consolidate
memolith consolidate --all --json
memolith consolidate --undo 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
memolith consolidate --undo base-memory
"""

BASE_MEMORY = "base-memory"


@command("consolidate", example=CONSOLIDATE_EXAMPLES)
@click.option(
    "--undo",
    metavar="ID",
    help=f"Take the summary ID back, or, by {BASE_MEMORY}, the last version of the base memory.",
)
@all_owners_option
def consolidate_command(call: CommandCall, undo: str | None, *, everybody: bool) -> None:
    """Make memories shorter by the rules of the owner's profile.

    Messages, conversations and old sessions get summaries, and those go into the base memory: by
    the language model that is configured, or, with none, by the sentences that say most. What a
    summary stands for is kept. `memolith worker` does this by itself.
    """
    if undo is not None:
        if everybody:
            raise click.UsageError("--undo takes back one summary of one owner: leave out --all.")
        _undo_consolidation(call, undo)
        return
    owner = select_owner(call, everybody=everybody)
    with call.engine_factory.engine(call.load_settings()) as engine:
        made = engine.consolidate(owner=owner)
    call.respond(
        "\n".join(map(_describe_consolidation, made)) or "Nothing has gathered that is due.", made
    )


def _undo_consolidation(call: CommandCall, id: str) -> None:
    with call.open_memory() as memory:
        if id != BASE_MEMORY:
            undone = memory.undo_consolidation(id)
            call.respond(f"Taken back: {undone.id}; memolith restore brings it back", undone)
            return
        versions = memory.base_memory_versions()
        if len(versions) < 2:  # noqa: PLR2004 - the last and the one before
            raise click.UsageError("There is no earlier version of the base memory.")
        now = memory.roll_back_base_memory(versions[-2].version)
    call.respond(f"The base memory says again what version {versions[-2].version} said", now)


def _describe_consolidation(made: ConsolidationResult) -> str:
    how = "by the model" if made.by_model else "by its own sentences"
    of = format_count(made.sources, "source", "sources")
    return f"{made.output} {made.id}: {of}, {how}"
