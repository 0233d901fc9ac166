"""`memolith verify`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memolith.entrypoints import exits
from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, format_count, print_json
from memolith.entrypoints.cli.progress import progress

if TYPE_CHECKING:
    from memolith.services.verify import VerificationReport

VERIFY_EXAMPLES = """
memolith verify
memolith verify --repair --json
"""


@command("verify", example=VERIFY_EXAMPLES)
@click.option("--repair", is_flag=True, help="Put right what can be derived again.")
def verify_command(call: CommandCall, *, repair: bool) -> None:
    """Look for damage in the whole store: every owner, record, sealed value and index entry.

    Exits with 0 where nothing is wrong, or all was repaired, else with 16. What --repair can't
    derive again is named and left: a backup may have it.
    """
    with (
        call.engine_factory.engine(call.load_existing_settings()) as engine,
        progress("Comparing texts") as advance,
    ):
        report = engine.verify(repair=repair, on_progress=advance)
    if call.as_json:
        print_json(report)
    else:
        _show_report(report)
    if not report.is_clean:
        sys.exit(exits.EXIT_FINDINGS)


def _show_report(report: VerificationReport) -> None:
    checked = report.checked
    click.echo(
        f"Looked at {format_count(checked.owners, 'owner', 'owners')},"
        f" {format_count(checked.memories, 'memory', 'memories')},"
        f" {format_count(checked.messages, 'message', 'messages')}"
    )
    if not report.findings:
        click.echo("Nothing is wrong.")
        return
    rows = [
        (
            each.kind,
            each.owner_id or "",
            each.record_id or "",
            each.detail,
            _describe_repair(each.repaired),
        )
        for each in report.findings
    ]
    console().print(build_table(("about", "owner", "record", "…what is wrong", ""), rows))


def _describe_repair(repaired: bool) -> str:  # noqa: FBT001 - a column's value
    return "repaired" if repaired else ""
