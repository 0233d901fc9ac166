"""`memolith list`."""

from __future__ import annotations

from typing import Any

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, format_date, print_json
from memolith.entrypoints.cli.records import get_display_text
from memolith.entrypoints.cli.terminal import to_one_line

LIST_EXAMPLES = """
memolith list --kind preference
memolith list --state forgotten --limit 10
"""

_LIST_COLUMNS = ("id", "kind", "date", ">left", "…memory")


@command("list", example=LIST_EXAMPLES)
@click.option("--kind", help="Only this kind.")
@click.option("--state", help="Active (the default), superseded, expired, forgotten, …, or all.")
@click.option("--tag", "tags", multiple=True, help="Only with this tag. Repeatable.")
@click.option("--limit", type=int, default=50, show_default=True, help="How many at most.")
@click.option("--cursor", help="Where the page before ended.")
def list_command(call: CommandCall, **given: Any) -> None:
    """List memories, newest first."""
    with call.open_memory() as memory:
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
            format_date(each.happened_at or each.created_at),
            f"{each.strength:.2f}",
            to_one_line(
                f"{each.key}: {get_display_text(each)}" if each.key else get_display_text(each)
            ),
        )
        for each in page.memories
    ]
    out.print(build_table(_LIST_COLUMNS, rows, cut=True))
    more = f"; more with --cursor {page.cursor}" if page.cursor else ""
    out.print(f"{len(page.memories)} of {page.total}{more}", style="dim", soft_wrap=True)
