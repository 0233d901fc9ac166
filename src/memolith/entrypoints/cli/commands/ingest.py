"""`memolith ingest`."""

from __future__ import annotations

import io
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.output import build_table, console, format_count, print_json
from memolith.entrypoints.cli.progress import progress
from memolith.entrypoints.cli.terminal import escape_controls
from memolith.errors import InvalidInput, MemolithError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.domain.ingestion import IngestedChunk, IngestResult

INGEST_EXAMPLES = """
memolith ingest handbook.md
memolith ingest notes.txt --source "team notes" --tag work --show
pdftotext report.pdf - | memolith ingest - --source report.pdf
"""

_READ_CHARS = 1 << 16
_MAX_CHUNK_CHARS = 60


@command("ingest", example=INGEST_EXAMPLES)
@click.argument("file")
@click.option("--kind", help="The kind of all its memories; without, judged for each chunk.")
@click.option("--session", help="The conversation they belong to.")
@click.option("--origin", default="document", show_default=True, help="Where the text is from.")
@click.option("--source", help="A name of the text; without, the file's.")
@click.option("--tag", "tags", multiple=True, help="A word to filter by. Repeatable.")
@click.option("--show", is_flag=True, help="Show every chunk and what became of it.")
def ingest_command(  # noqa: PLR0913, PLR0917 - one for each option
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
    """Take in a long text: FILE in UTF-8, or - for standard input.

    It is cut where its meaning is, and every chunk worth keeping becomes a memory. A file of any
    size is read a little at a time. What is stored already is not stored twice: a run that was
    interrupted can simply be repeated.
    """
    name = source or (None if file == "-" else Path(file).name)
    pieces: list[IngestedChunk] = []
    fates: Counter[str] = Counter()
    redactions = 0
    stored: set[str] = set()
    with open_text(file) as texts, call.open_memory(create=True) as memory:
        parts = memory.ingest_stream(
            texts, kind=kind, session=session, origin=origin, source=name, tags=tags
        )
        try:
            with progress(f"Taking in {file}") as advance:
                for part in parts:
                    _count_statuses(part, fates)
                    redactions += part.redactions
                    pieces += part.chunks if show or call.as_json else ()
                    stored.update(each.memory.id for each in part.chunks if each.memory)
                    advance(len(part.chunks))
        except (KeyboardInterrupt, MemolithError):
            if fates:
                click.echo(
                    f"memolith: stopped after {_describe_statuses(fates)}; these are kept", err=True
                )
            raise
        withheld = sum(each.id in stored for each in memory.review())
    if not fates:
        raise InvalidInput("file", "holds no text")
    if call.as_json:
        figures = {**_get_status_counts(fates), "withheld": withheld, "redactions": redactions}
        print_json({**figures, "pieces": pieces})
        return
    _show_chunks(pieces, fates, redactions)
    if withheld:
        are = format_count(withheld, "chunk tries", "chunks try")
        click.echo(f"{are} to instruct a model, withheld until reviewed: memolith review")


def _show_chunks(pieces: list[IngestedChunk], fates: Counter[str], redactions: int) -> None:
    if pieces:
        rows = [
            (each.status, each.kind, f"{each.importance:.2f}", _shorten_chunk(each.text))
            for each in pieces
        ]
        console().print(build_table(("", "kind", "importance", "…chunk"), rows))
    hidden = f"; {format_count(redactions, 'secret was', 'secrets were')} taken out" * bool(
        redactions
    )
    click.echo(f"Took in {_describe_statuses(fates)}{hidden}.")


def _count_statuses(part: IngestResult, fates: Counter[str]) -> None:
    fates.update(each.status for each in part.chunks)


def _get_status_counts(fates: Counter[str]) -> dict[str, int]:
    return {name: fates[name] for name in ("stored", "known", "dropped")}


def _describe_statuses(fates: Counter[str]) -> str:
    return (
        f"{format_count(fates.total(), 'chunk', 'chunks')}: {fates['stored']} stored,"
        f" {fates['known']} known already, {fates['dropped']} not worth keeping"
    )


def _shorten_chunk(text: str) -> str:
    line = escape_controls(" ".join(text.split()))
    return line if len(line) <= _MAX_CHUNK_CHARS else f"{line[: _MAX_CHUNK_CHARS - 1]}…"


@contextmanager
def open_text(file: str) -> Iterator[Iterator[str]]:
    """Give a file's text in pieces.

    Raises:
        InvalidInput: It is not UTF-8.
        OSError: It can't be read.
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
        raise InvalidInput("file", f"{file} is not text in UTF-8") from error
