"""`memolith update`."""

from __future__ import annotations

from typing import Any

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.options import Instant, read_text_argument

UPDATE_EXAMPLES = """
memolith update 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 "Prefers metric units, also for recipes"
memolith update 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11 --importance 0.9 --tag style
"""


@command("update", example=UPDATE_EXAMPLES)
@click.argument("id")
@click.argument("text", required=False)
@click.option("--kind", help="What it is: fact, preference, …")
@click.option("--importance", type=float, help="0 to 1.")
@click.option("--key", help="Its name.")
@click.option("--tag", "tags", multiple=True, help="Its tags, instead of those it has. Repeatable.")
@click.option("--expires-in", default="", help="How long it holds from now: 90d, 12h, 30m.")
@click.option("--expires-at", type=Instant(), help="Until when it holds.")
@click.option("--happened-at", type=Instant(), help="When it was so, or was said.")
def update_command(call: CommandCall, id: str, text: str | None, **given: Any) -> None:
    """Change the memory ID; TEXT is its new text, - for standard input.

    Another text is another version: the earlier ones are kept, see `memolith history`.
    """
    given["tags"] = given["tags"] or None
    with call.open_memory() as memory:
        changed = memory.update(id, None if text is None else read_text_argument(text), **given)
    call.respond(f"Updated {changed.id}, version {changed.version}", changed)
