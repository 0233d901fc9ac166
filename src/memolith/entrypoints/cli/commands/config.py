"""`memolith config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, print_json, table
from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    from memolith.config import Loaded

EXAMPLE = """
memolith config show
MEMOLITH_RAG_LIMIT=10 memolith config show --json
"""


@command("config", example=EXAMPLE)
@click.argument("what", type=click.Choice(["show"]), default="show")
def run(call: Call, what: str) -> None:
    """Show every setting in force and where it comes from; passwords are hidden."""
    from memolith.config.reference import in_force

    del what  # the only one so far
    rows = list(in_force(_fitted(call)))
    if call.as_json:
        print_json(rows)
        return
    cells = ((row.name, _written(row.value), row.origin, row.note) for row in rows)
    console().print(table(("setting", "…value", "…from", "note"), cells))


def _fitted(call: Call) -> Loaded:
    """Return the settings with the thresholds that the embedder needs."""
    from memolith.config.thresholds import fitted

    loaded = call.settings()
    try:
        embedder = call.wiring.embedder(loaded)
    except InvalidConfiguration:
        return loaded  # this command is for finding out; those that need the model say what fails
    return fitted(loaded, embedder.name)


def _written(value: object) -> str:
    """Return a value as the file would have it."""
    import json

    return json.dumps(value, ensure_ascii=False)
