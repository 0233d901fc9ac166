"""`memolith verify`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memolith.entrypoints import exits
from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, counted, print_json, table
from memolith.entrypoints.cli.progress import progress

if TYPE_CHECKING:
    from memolith.services.verify import Report

EXAMPLE = """
memolith verify
memolith verify --repair --json
"""


@command("verify", example=EXAMPLE)
@click.option("--repair", is_flag=True, help="Put right what can be derived again.")
def run(call: Call, *, repair: bool) -> None:
    """Look for damage in the whole store: every owner, record, sealed value and index entry.

    Exits with 0 where nothing is wrong, or all was repaired, else with 16. What --repair can't
    derive again is named and left: a backup may have it.
    """
    with (
        call.wiring.engine(call.settings_of_what_is_there()) as engine,
        progress("Comparing texts") as advance,
    ):
        report = engine.verify(repair=repair, advance=advance)
    if call.as_json:
        print_json(report)
    else:
        _show(report)
    if not report.is_clean:
        sys.exit(exits.FINDINGS)


def _show(report: Report) -> None:
    checked = report.checked
    click.echo(
        f"Looked at {counted(checked.owners, 'owner', 'owners')},"
        f" {counted(checked.memories, 'memory', 'memories')},"
        f" {counted(checked.messages, 'message', 'messages')}"
    )
    if not report.findings:
        click.echo("Nothing is wrong.")
        return
    rows = [
        (each.kind, each.owner_id or "", each.record_id or "", each.detail, _state(each.repaired))
        for each in report.findings
    ]
    console().print(table(("about", "owner", "record", "…what is wrong", ""), rows))


def _state(repaired: bool) -> str:  # noqa: FBT001 - a column's value
    return "repaired" if repaired else ""
