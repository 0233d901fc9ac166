"""`memolith backup`."""

from __future__ import annotations

from pathlib import Path

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.progress import progress

BACKUP_EXAMPLES = """
memolith backup /media/stick/memory.db
memolith backup memory-backup.db --force
"""


@command("backup", example=BACKUP_EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Take the place of a file that is there.")
def backup_command(call: CommandCall, file: Path, *, force: bool) -> None:
    """Copy the whole store, all owners, to FILE as of now, while it is in use.

    FILE is written whole or not at all. It is a store in a file, also where the store is in a
    database, and can be restored into either. It is encrypted as the store is, and holds no key:
    `memolith key backup` copies the keys, to be kept elsewhere.
    """
    with (
        call.engine_factory.engine(call.load_existing_settings()) as engine,
        progress("Copying") as advance,
    ):
        size = engine.backup(file, overwrite=force, on_progress=advance)
    call.respond(f"Copied {size:,} bytes to {file}", {"file": str(file), "bytes": size})
