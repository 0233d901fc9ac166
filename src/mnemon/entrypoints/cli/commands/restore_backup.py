"""`mnemon restore-backup`."""

from __future__ import annotations

from pathlib import Path

import click

from mnemon.entrypoints.cli.calls import Call, command
from mnemon.entrypoints.cli.output import counted

EXAMPLE = """
mnemon restore-backup /media/stick/memory.db
mnemon restore-backup memory-backup.db --force
"""

UNKNOWN = "The store that was there can't say who was erased: erase them again where needed."


@command("restore-backup", example=EXAMPLE)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Take the place of a store that is there.")
def run(call: Call, file: Path, *, force: bool) -> None:
    """Put the backup FILE in the store's place; no program may have the store open.

    The backup is checked before anything is replaced, and the store that was there is kept
    beside it, as `….before-restore`. Owners who were erased since the backup stay erased.
    """
    from mnemon.engine import Mnemon

    done = Mnemon.restore_backup(file, force=force, config=call.settings())
    lines = [f"Restored {counted(done.owners, 'owner', 'owners')} to {done.store}"]
    if done.erased:
        lines.append(f"Left out: {counted(done.erased, 'owner', 'owners')} erased since")
    if done.kept is not None:
        lines.append(f"The store that was there is now {done.kept}")
    if not done.remembers_erased:
        lines.append(UNKNOWN)
    said = {name: getattr(done, name) for name in ("owners", "erased", "remembers_erased")}
    kept = None if done.kept is None else str(done.kept)
    call.say("\n".join(lines), {"store": str(done.store), "kept": kept, **said})
