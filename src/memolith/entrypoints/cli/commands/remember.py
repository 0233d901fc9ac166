"""`memolith remember`."""

from __future__ import annotations

from typing import Any

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.notices import print_note
from memolith.entrypoints.cli.options import Instant, read_text_argument
from memolith.text.screening import REDACTED

REMEMBER_EXAMPLES = """
memolith remember "Prefers metric units" --kind preference --tag style
memolith remember "The flat is rented until May" --expires-at 2027-05-31
memolith remember "Prefers metric units" --key units
echo "Works at NASA" | memolith remember -
"""


@command("remember", example=REMEMBER_EXAMPLES)
@click.argument("text")
@click.option("--kind", help="What it is: fact, preference, …; default: by its words.")
@click.option("--importance", type=float, help="0 to 1; default: by its words.")
@click.option("--key", help="A name; storing under it again makes a new version.")
@click.option("--tag", "tags", multiple=True, help="A word to filter by. Repeatable.")
@click.option("--expires-in", default="", help="How long it holds: 90d, 12h, 30m.")
@click.option("--expires-at", type=Instant(), help="Until when it holds.")
@click.option("--happened-at", type=Instant(), help="When it was so, or was said.")
@click.option("--session", help="The conversation it belongs to.")
@click.option("--origin", default="user", help="Whence it is: user (default), tool, document, …")
def remember_command(call: CommandCall, text: str, **given: Any) -> None:
    """Store one memory: TEXT, or what standard input says where it is -.

    What is said already is not stored twice.
    """
    said = read_text_argument(text)
    with call.open_memory(create=True) as memory:
        stored = memory.remember(said, **given)
    if stored.content.count(REDACTED) > said.count(REDACTED):
        print_note("what looks like a secret is stored as [REDACTED]")
    call.respond(f"Remembered as {stored.kind}: {stored.id}", stored)
