"""`memolith restore-backup`."""

from __future__ import annotations

from pathlib import Path

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import format_count

RESTORE_BACKUP_EXAMPLES = """
memolith restore-backup /media/stick/memory.db
memolith restore-backup memory-backup.db --force
memolith restore-backup b.db --store postgresql://memolith@db.example/memory --keys-of memory.db
"""

ERASURES_UNKNOWN = (
    "The store that was there can't say who was erased: erase them again where needed."
)


@command("restore-backup", example=RESTORE_BACKUP_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Take the place of a store that is there.")
@click.option(
    "--keys-of", metavar="PATH|URL", help="The store it was made of, if its keys are elsewhere."
)
def restore_backup_command(
    call: CommandCall, file: Path, *, force: bool, keys_of: str | None
) -> None:
    """Put the backup FILE in the store's place; no program may have a store's file open.

    FILE may be of a store in a file or in a database, and the store in either. It is checked
    before anything is replaced. The store that was there is kept beside it, as
    `….before-restore` or, in a database, as the schema `…_before_restore`. Owners who were erased
    since the backup stay erased.
    """
    from memolith.engine import Memolith

    done = Memolith.restore_backup(file, force=force, keys_of=keys_of, config=call.load_settings())
    lines = [f"Restored {format_count(done.owners, 'owner', 'owners')} to {done.store}"]
    if done.erased_owners:
        lines.append(
            f"Left out: {format_count(done.erased_owners, 'owner', 'owners')} erased since"
        )
    if done.previous_store is not None:
        lines.append(f"The store that was there is now {done.previous_store}")
    if not done.erasures_known:
        lines.append(ERASURES_UNKNOWN)
    said = {name: getattr(done, name) for name in ("owners", "erased", "remembers_erased")}
    kept = None if done.previous_store is None else str(done.previous_store)
    call.respond("\n".join(lines), {"store": str(done.store), "kept": kept, **said})
