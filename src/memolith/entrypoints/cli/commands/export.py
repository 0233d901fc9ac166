"""`memolith export`."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.progress import progress
from memolith.errors import InvalidInput
from memolith.exchange.backup import write_export

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPORT_EXAMPLES = """
memolith export > memories.jsonl
memolith export --owner alice --output alice.jsonl
"""


@command("export", example=EXPORT_EXAMPLES)
@click.option("--output", "-o", default="-", metavar="FILE", help="Where to; default: here.")
def export_command(call: CommandCall, output: str) -> None:
    """Write everything of an owner as JSON lines, which `memolith import jsonl` takes back.

    That is: every message as it was stored, and every memory in any state, with its versions and
    its history. Left out is what is forgotten, approvals of what was reviewed, and what is
    derived: vectors, keywords, and links between memories that are near. It is not encrypted. A
    file is written whole or not at all.
    """
    now = datetime.now(UTC)  # noqa: TID251 - only a note in the file's first line
    with (
        call.open_memory() as memory,
        progress("Exporting") as advance,
        _open_output(output) as sink,
    ):
        for line in write_export(memory.export(), call.owner, now):
            sink.write(line)
            advance(1)


@contextmanager
def _open_output(output: str) -> Iterator[BinaryIO]:
    if output == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(output).resolve()  # a link's target is replaced, not the link
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise InvalidInput("output", f"{output} is a folder")
        with target.open("wb") as pipe:  # or a device, which is not to be replaced
            yield pipe
        return
    # Beside the target, so that moving it there is one step; readable by its owner only.
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".memolith-", delete=False) as file:
        unfinished = Path(file.name)
        try:
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            file.close()
            unfinished.unlink()
            raise
    unfinished.replace(target)
