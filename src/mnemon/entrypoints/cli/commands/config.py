"""`mnemon config`."""

from __future__ import annotations

import click

from mnemon.entrypoints.cli.calls import Call, command
from mnemon.entrypoints.cli.output import console, print_json, table

EXAMPLE = """
mnemon config show
MNEMON_RAG_LIMIT=10 mnemon config show --json
"""


@command("config", example=EXAMPLE)
@click.argument("what", type=click.Choice(["show"]), default="show")
def run(call: Call, what: str) -> None:
    """Show every setting in force and where it comes from; passwords are hidden."""
    from mnemon.config.reference import in_force

    del what  # the only one so far
    rows = list(in_force(call.settings()))
    if call.as_json:
        print_json(rows)
        return
    cells = ((row.name, _written(row.value), row.origin, row.note) for row in rows)
    console().print(table(("setting", "…value", "…from", "note"), cells))


def _written(value: object) -> str:
    """Return a value as the file would have it."""
    import json

    return json.dumps(value, ensure_ascii=False)
