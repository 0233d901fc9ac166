"""`memolith config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, print_json
from memolith.errors import InvalidConfiguration

if TYPE_CHECKING:
    from memolith.config import LoadedSettings

CONFIG_EXAMPLES = """
memolith config show
MEMOLITH_RAG_LIMIT=10 memolith config show --json
"""


@command("config", example=CONFIG_EXAMPLES)
@click.argument("what", type=click.Choice(["show"]), default="show")
def config_command(call: CommandCall, what: str) -> None:
    """Show every setting in force and where it comes from; passwords are hidden."""
    from memolith.config.reference import iter_effective_settings

    del what  # the only one so far
    rows = list(iter_effective_settings(_load_fitted_settings(call)))
    if call.as_json:
        print_json(rows)
        return
    cells = ((row.name, _format_value(row.value), row.origin, row.note) for row in rows)
    console().print(build_table(("setting", "…value", "…from", "note"), cells))


def _load_fitted_settings(call: CommandCall) -> LoadedSettings:
    """Return the settings with the thresholds that the embedder needs."""
    from memolith.config.thresholds import apply_embedder_thresholds

    loaded = call.load_settings()
    try:
        embedder = call.engine_factory.embedder(loaded)
    except InvalidConfiguration:
        return loaded  # this command is for finding out; those that need the model say what fails
    return apply_embedder_thresholds(loaded, embedder.name)


def _format_value(value: object) -> str:
    """Return a value as the file would have it."""
    import json

    return json.dumps(value, ensure_ascii=False)
