"""`memolith migrate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memolith.entrypoints import exits
from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, format_count, print_json
from memolith.entrypoints.cli.progress import progress

if TYPE_CHECKING:
    from memolith.services.migrate import MigrationResult, OwnerComparison

MIGRATE_EXAMPLES = """
memolith migrate --to postgresql://memolith@db.example/memory
memolith migrate --to postgresql://memolith@db.example/memory --verify
memolith migrate --from postgresql://memolith@db.example/memory --to memory.db
"""

_MAX_SHOWN_OWNERS = 20
"""Owners listed where nothing is wrong with them: a screenful. `--json` has all."""


@command("migrate", example=MIGRATE_EXAMPLES)
@click.option("--to", required=True, metavar="PATH|URL", help="Where to move the store.")
@click.option("--from", "source", metavar="PATH|URL", help="The store; default: the configured.")
@click.option("--verify", is_flag=True, help="Only compare both; nothing is changed.")
def migrate_command(call: CommandCall, to: str, source: str | None, *, verify: bool) -> None:
    """Move the store, all owners, into another database: SQLite or PostgreSQL.

    Everything is copied as it is: contents, history, ids, times, versions, vectors. The source
    is only read, and stays; other programs may use it meanwhile. The target must be new, or
    empty, or what this command has begun; nobody can open it until all is there. Interrupted or
    killed, the command goes on where it was when run again.

    At the end both sides are compared, row by row. Exits with 0 where they are the same, else
    with 16: somebody wrote to the source, so stop its writers and run the command again, which
    copies only the owners who changed. Then set `store` to the target, and write to it only.

    An encrypted store's keys are copied along. The source's keys stay as well: who is erased later
    must be erased from both, or the source be deleted with its keys by `memolith reset`.
    """
    from memolith.engine import Memolith

    settings = call.load_settings()
    with progress("Comparing rows" if verify else "Copying and comparing rows") as advance:
        done = Memolith.migrate(to, source, verify=verify, config=settings, on_progress=advance)
    if call.as_json:
        print_json(done.to_dict())
    else:
        _show_migration(done, verify=verify)
    if not done.is_same:
        sys.exit(exits.EXIT_FINDINGS)


def _show_migration(done: MigrationResult, *, verify: bool) -> None:
    click.echo(f"From {done.source}\nTo   {done.target}")
    if not verify:
        removed = f", {done.removed:,} removed as they were erased" if done.removed else ""
        click.echo(f"Copied {format_count(done.copied, 'owner', 'owners')}{removed}")
    owned = [each for each in done.compared if not each.is_same]
    shown = owned + [each for each in done.compared if each.is_same][:_MAX_SHOWN_OWNERS]
    rows = [_build_comparison_row(each) for each in shown]
    console().print(build_table(("…owner", ">rows", ">there", "hash", "hash there", ""), rows))
    if len(shown) < len(done.compared):
        click.echo(f"… and {len(done.compared) - len(shown):,} more that are the same")
    if done.is_same:
        click.echo("Both hold the same.")
    elif verify:
        click.echo("They differ: `memolith migrate` without --verify copies what does again.")
    else:
        click.echo("They differ: stop what writes to the source, and run this again.")


def _build_comparison_row(each: OwnerComparison) -> tuple[object, ...]:
    source, target = each.sums
    return (
        "(of no owner)" if each.owner_id is None else each.owner_id,
        f"{source.rows:,}",
        f"{target.rows:,}",
        source.digest[:16],
        target.digest[:16],
        "" if each.is_same else ", ".join(each.differing),
    )
