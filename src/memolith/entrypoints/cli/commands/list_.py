"""`memolith list`."""

from __future__ import annotations

from typing import Any

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, day, print_json, table
from memolith.entrypoints.cli.records import said
from memolith.entrypoints.cli.terminal import one_line

EXAMPLE = """
memolith list --kind preference
memolith list --state forgotten --limit 10
"""

_COLUMNS = ("id", "kind", "date", ">left", "…memory")


@command("list", example=EXAMPLE)
@click.option("--kind", help="Only this kind.")
@click.option("--state", help="Active (the default), superseded, expired, forgotten, …, or all.")
@click.option("--tag", "tags", multiple=True, help="Only with this tag. Repeatable.")
@click.option("--limit", type=int, default=50, show_default=True, help="How many at most.")
@click.option("--cursor", help="Where the page before ended.")
def run(call: Call, **given: Any) -> None:
    """List memories, newest first."""
    with call.memory() as memory:
        page = memory.list(**given)
    if call.as_json:
        print_json(page)
        return
    out = console()
    if not page.memories:
        out.print("No memories.")
        return
    rows = [
        (
            each.id,
            each.kind if each.state == "active" else f"{each.kind} ({each.state})",
            day(each.happened_at or each.created_at),
            f"{each.strength:.2f}",
            one_line(f"{each.key}: {said(each)}" if each.key else said(each)),
        )
        for each in page.memories
    ]
    out.print(table(_COLUMNS, rows, cut=True))
    more = f"; more with --cursor {page.cursor}" if page.cursor else ""
    out.print(f"{len(page.memories)} of {page.total}{more}", style="dim", soft_wrap=True)
