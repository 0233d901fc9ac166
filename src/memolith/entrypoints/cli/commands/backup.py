"""`memolith backup`."""

from __future__ import annotations

from pathlib import Path

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.progress import progress

EXAMPLE = """
memolith backup /media/stick/memory.db
memolith backup memory-backup.db --force
"""


@command("backup", example=EXAMPLE)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Take the place of a file that is there.")
def run(call: Call, file: Path, *, force: bool) -> None:
    """Copy the whole store, all owners, to FILE as of now, while it is in use.

    FILE is written whole or not at all. It is a store in a file, also where the store is in a
    database, and can be restored into either. It is encrypted as the store is, and holds no key:
    `memolith key backup` copies the keys, to be kept elsewhere.
    """
    with (
        call.wiring.engine(call.settings_of_what_is_there()) as engine,
        progress("Copying") as advance,
    ):
        size = engine.backup(file, overwrite=force, advance=advance)
    call.say(f"Copied {size:,} bytes to {file}", {"file": str(file), "bytes": size})
