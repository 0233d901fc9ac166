"""Commands that learn: learn, ingest and consolidate."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.cli.context import CommandCall, all_owners_option, command, select_owner
from memolith.cli.options import Instant, read_text_argument
from memolith.cli.output import (
    build_table,
    console,
    escape_controls,
    format_count,
    format_redactions,
    print_json,
    progress,
    to_one_line,
)
from memolith.domain.reports import IngestedChunk, IngestResult
from memolith.errors import InvalidInput, MemolithError

if TYPE_CHECKING:
    from memolith.services.summarise import ConsolidationResult

LEARN_EXAMPLES = """
memolith learn "My name is Alice and I live in Oslo" "Nice to meet you, Alice!"
memolith learn "No, it's the 14th" --session planning --at 2026-05-08T13:56
"""


@command("learn", example=LEARN_EXAMPLES)
@click.argument("user")
@click.argument("assistant", required=False)
@click.option(
    "--session", default="default", show_default=True, help="Conversation of the exchange."
)
@click.option("--at", type=Instant(), help="Time of the exchange.  [default: now]")
def learn_command(
    call: CommandCall, user: str, assistant: str | None, session: str, at: datetime | None
) -> None:
    """Log an exchange: the USER's message and the ASSISTANT's reply. Learn memories from it.

    Use - to read USER from standard input. A configured language model learns later, in `memolith
    worker`.
    """
    with call.engine_factory.engine(call.load_settings(), worker=False) as engine:
        memory = engine.owner(call.owner)
        learned = memory.learn(read_text_argument(user), assistant, session=session, at=at)
        has_model = engine.chat_model(call.owner) is not None
        pending = memory.backlog().pending_messages if has_model else 0
    wait = f"\n{format_count(pending, 'message', 'messages')} pending for `memolith worker`"
    lines = "".join(f"\n  {each.kind}: {to_one_line(each.content)}" for each in learned.memories)
    call.respond(
        f"{format_count(len(learned.messages), 'message', 'messages')} logged, "
        f"{format_count(len(learned.memories), 'memory', 'memories')} learned"
        f"{format_redactions(learned.redactions)}{lines}{wait if pending else ''}",
        learned,
    )


# --- `memolith ingest`


INGEST_EXAMPLES = """
memolith ingest handbook.md
memolith ingest notes.txt --source "team notes" --tag work --show
pdftotext report.pdf - | memolith ingest - --source report.pdf
"""

_READ_CHARS = 1 << 16
_MAX_CHUNK_CHARS = 60


@command("ingest", example=INGEST_EXAMPLES)
@click.argument("file")
@click.option("--kind", help="Kind of all memories.  [default: detected for each chunk]")
@click.option("--session", help="Conversation that the memories belong to.")
@click.option("--origin", default="document", show_default=True, help="Origin of the text.")
@click.option("--source", help="Name of the text.  [default: name of FILE]")
@click.option("--tag", "tags", multiple=True, help="Tag to filter by. Repeatable.")
@click.option("--show", is_flag=True, help="Show every chunk with its status.")
def ingest_command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    call: CommandCall,
    file: str,
    kind: str | None,
    session: str | None,
    origin: str,
    source: str | None,
    tags: tuple[str, ...],
    *,
    show: bool,
) -> None:
    """Split the text FILE into chunks and store those worth remembering; use - for standard input.

    FILE is UTF-8 text of any size. Chunks that are stored already are skipped, so an interrupted
    run can be repeated.
    """
    name = source or (None if file == "-" else Path(file).name)
    chunks: list[IngestedChunk] = []
    statuses: Counter[str] = Counter()
    redactions = 0
    stored: set[str] = set()
    with open_text(file) as texts, call.open_memory(create=True) as memory:
        parts = memory.ingest_stream(
            texts, kind=kind, session=session, origin=origin, source=name, tags=tags
        )
        try:
            with progress(f"Ingesting {file}") as advance:
                for part in parts:
                    _count_statuses(part, statuses)
                    redactions += part.redactions
                    chunks += part.chunks if show or call.as_json else ()
                    stored.update(each.memory.id for each in part.chunks if each.memory)
                    advance(len(part.chunks))
        except (KeyboardInterrupt, MemolithError):
            if statuses:
                click.echo(
                    f"memolith: stopped after {_describe_statuses(statuses)};"
                    " stored chunks are kept",
                    err=True,
                )
            raise
        quarantined_count = sum(each.id in stored for each in memory.review())
    if not statuses:
        raise InvalidInput("file", "contains no text")
    if call.as_json:
        counts = {
            **_get_status_counts(statuses),
            "quarantined": quarantined_count,
            "redactions": redactions,
        }
        print_json({**counts, "chunks": chunks})
        return
    _show_chunks(chunks, statuses, redactions)
    if quarantined_count:
        quarantined = format_count(quarantined_count, "chunk", "chunks")
        click.echo(
            f"{quarantined} quarantined as suspected prompt injection: run `memolith review`"
        )


def _show_chunks(chunks: list[IngestedChunk], statuses: Counter[str], redactions: int) -> None:
    if chunks:
        rows = [
            (each.status, each.kind, f"{each.importance:.2f}", _shorten_chunk(each.text))
            for each in chunks
        ]
        console().print(build_table(("", "kind", "importance", "…chunk"), rows))
    note = f"; {format_count(redactions, 'secret', 'secrets')} redacted" * bool(redactions)
    click.echo(f"Ingested {_describe_statuses(statuses)}{note}.")


def _count_statuses(part: IngestResult, statuses: Counter[str]) -> None:
    statuses.update(each.status for each in part.chunks)


def _get_status_counts(statuses: Counter[str]) -> dict[str, int]:
    return {name: statuses[name] for name in ("stored", "known", "dropped")}


def _describe_statuses(statuses: Counter[str]) -> str:
    return (
        f"{format_count(statuses.total(), 'chunk', 'chunks')}: {statuses['stored']} stored,"
        f" {statuses['known']} already known, {statuses['dropped']} dropped"
    )


def _shorten_chunk(text: str) -> str:
    line = escape_controls(" ".join(text.split()))
    return line if len(line) <= _MAX_CHUNK_CHARS else f"{line[: _MAX_CHUNK_CHARS - 1]}…"


@contextmanager
def open_text(file: str) -> Iterator[Iterator[str]]:
    """Yield the text of a file in pieces.

    Raises:
        InvalidInput: The file is not UTF-8.
        OSError: The file cannot be read.
    """
    if file == "-":
        yield _read_pieces(io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig"), file)
        return
    with Path(file).open(encoding="utf-8-sig", newline="") as stream:
        yield _read_pieces(stream, file)


def _read_pieces(stream: io.TextIOWrapper, file: str) -> Iterator[str]:
    try:
        while piece := stream.read(_READ_CHARS):
            yield piece
    except UnicodeDecodeError as error:
        raise InvalidInput("file", f"{file} is not UTF-8 text") from error


# --- `memolith consolidate`


CONSOLIDATE_EXAMPLES = """
memolith consolidate
memolith consolidate --all --json
memolith consolidate --undo 01933b6e-1c5f-7a7e-8a3c-5d0f2f4b9e11
memolith consolidate --undo base-memory
"""

BASE_MEMORY = "base-memory"


@command("consolidate", example=CONSOLIDATE_EXAMPLES)
@click.option(
    "--undo",
    metavar="ID",
    help=f"Undo the summary ID, or the last version of the base memory ({BASE_MEMORY}).",
)
@all_owners_option
def consolidate_command(call: CommandCall, undo: str | None, *, all_owners: bool) -> None:
    """Summarise messages, conversations and old sessions as the owner's profile defines.

    Summaries also update the base memory. They are written by the configured language model, or
    extracted from the sources without one. The sources are kept. `memolith worker` does this
    automatically.
    """
    if undo is not None:
        if all_owners:
            raise click.UsageError("--undo cannot be combined with --all.")
        _undo_consolidation(call, undo)
        return
    owner = select_owner(call, all_owners=all_owners)
    with call.engine_factory.engine(call.load_settings()) as engine:
        results = engine.consolidate(owner=owner)
    call.respond("\n".join(map(_describe_consolidation, results)) or "Nothing is due.", results)


def _undo_consolidation(call: CommandCall, id: str) -> None:
    with call.open_memory() as memory:
        if id != BASE_MEMORY:
            result = memory.undo_consolidation(id)
            call.respond(f"Undone: {result.id}; `memolith restore` reactivates it", result)
            return
        versions = memory.base_memory_versions()
        if len(versions) < 2:  # noqa: PLR2004 - the current and the previous version
            raise click.UsageError("There is no earlier version of the base memory.")
        now = memory.roll_back_base_memory(versions[-2].version)
    call.respond(f"The base memory was rolled back to version {versions[-2].version}", now)


def _describe_consolidation(result: ConsolidationResult) -> str:
    method = "by the model" if result.by_model else "extractive"
    sources = format_count(result.sources, "source", "sources")
    return f"{result.output} {result.id}: {sources}, {method}"
