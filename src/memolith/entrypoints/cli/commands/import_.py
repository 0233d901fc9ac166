"""`memolith import`."""

from __future__ import annotations

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.imports import IMPORT_FORMATS, ImportTally, open_batches, store_batch
from memolith.entrypoints.cli.progress import progress
from memolith.errors import MemolithError

IMPORT_EXAMPLES = """
memolith import chatgpt conversations.json
memolith import claude data-2026-05-08.zip
memolith import locomo locomo10.json --sample conv-26
memolith import jsonl backup.jsonl --owner alice
"""


@command("import", example=IMPORT_EXAMPLES)
@click.argument("format", type=click.Choice(IMPORT_FORMATS), metavar="FORMAT")
@click.argument("file")
@click.option(
    "--sample", "samples", multiple=True, help="Of locomo and beam only this. Repeatable."
)
@click.option(
    "--trusted", is_flag=True, help="Believe memories of jsonl that say they are the user's own."
)
def import_command(
    call: CommandCall, format: str, file: str, samples: tuple[str, ...], *, trusted: bool
) -> None:
    """Take in a FILE of another program, or - for standard input.

    FORMAT is chatgpt or claude (the exports of these, as conversations.json or the whole zip),
    jsonl (a message or memory a line, or what `memolith export` wrote), or one of the data sets
    locomo and beam. What was imported before is not imported again. Standard input is held in
    memory: give a large export as a file.

    A file is believed about who said what in a conversation, and so is an export of Memolith: take
    in none that you would not.
    """
    tally = ImportTally()
    reading = open_batches(format, file, samples, call.owner, trusted=trusted)
    with reading as found, call.open_memory(create=True) as memory:
        try:
            with progress(f"Importing {file}") as advance:
                for batch in found:
                    advance(store_batch(memory, batch, tally))
        except (KeyboardInterrupt, MemolithError):
            if tally.messages or tally.memories:
                click.echo(f"memolith: stopped after {tally}; these are kept", err=True)
            raise
    call.respond(
        f"Imported {tally}.",
        {
            "messages": tally.messages,
            "memories": tally.memories,
            "already": tally.duplicates_skipped,
            "passed_over": tally.messages_skipped,
            "conversations": len(tally.conversations),
            "unkeyed": tally.keys_dropped,
            "redactions": tally.redactions,
        },
    )
