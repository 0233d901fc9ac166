"""`memolith ingest`."""

from __future__ import annotations

import io
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.output import console, counted, print_json, table
from memolith.entrypoints.cli.progress import progress
from memolith.entrypoints.cli.terminal import visible
from memolith.errors import InvalidInput, MemolithError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memolith.domain.ingestion import Ingested, Piece

EXAMPLE = """
memolith ingest handbook.md
memolith ingest notes.txt --source "team notes" --tag work --show
pdftotext report.pdf - | memolith ingest - --source report.pdf
"""

_PIECE_CHARS = 1 << 16
_WIDTH = 60


@command("ingest", example=EXAMPLE)
@click.argument("file")
@click.option("--kind", help="The kind of all its memories; without, judged for each chunk.")
@click.option("--session", help="The conversation they belong to.")
@click.option("--origin", default="document", show_default=True, help="Where the text is from.")
@click.option("--source", help="A name of the text; without, the file's.")
@click.option("--tag", "tags", multiple=True, help="A word to filter by. Repeatable.")
@click.option("--show", is_flag=True, help="Show every chunk and what became of it.")
def run(  # noqa: PLR0913, PLR0917 - one for each option
    call: Call,
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
    pieces: list[Piece] = []
    fates: Counter[str] = Counter()
    redactions = 0
    stored: set[str] = set()
    with reading(file) as texts, call.memory(makes=True) as memory:
        parts = memory.ingest_stream(
            texts, kind=kind, session=session, origin=origin, source=name, tags=tags
        )
        try:
            with progress(f"Taking in {file}") as advance:
                for part in parts:
                    _count(part, fates)
                    redactions += part.redactions
                    pieces += part.pieces if show or call.as_json else ()
                    stored.update(each.memory.id for each in part.pieces if each.memory)
                    advance(len(part.pieces))
        except (KeyboardInterrupt, MemolithError):
            if fates:
                click.echo(f"memolith: stopped after {_told(fates)}; these are kept", err=True)
            raise
        withheld = sum(each.id in stored for each in memory.review())
    if not fates:
        raise InvalidInput("file", "holds no text")
    if call.as_json:
        figures = {**_figures(fates), "withheld": withheld, "redactions": redactions}
        print_json({**figures, "pieces": pieces})
        return
    _show(pieces, fates, redactions)
    if withheld:
        are = counted(withheld, "chunk tries", "chunks try")
        click.echo(f"{are} to instruct a model, withheld until reviewed: memolith review")


def _show(pieces: list[Piece], fates: Counter[str], redactions: int) -> None:
    if pieces:
        rows = [
            (each.fate, each.kind, f"{each.importance:.2f}", _begin(each.text)) for each in pieces
        ]
        console().print(table(("", "kind", "importance", "…chunk"), rows))
    hidden = f"; {counted(redactions, 'secret was', 'secrets were')} taken out" * bool(redactions)
    click.echo(f"Took in {_told(fates)}{hidden}.")


def _count(part: Ingested, fates: Counter[str]) -> None:
    fates.update(each.fate for each in part.pieces)


def _figures(fates: Counter[str]) -> dict[str, int]:
    return {name: fates[name] for name in ("stored", "known", "dropped")}


def _told(fates: Counter[str]) -> str:
    return (
        f"{counted(fates.total(), 'chunk', 'chunks')}: {fates['stored']} stored,"
        f" {fates['known']} known already, {fates['dropped']} not worth keeping"
    )


def _begin(text: str) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


@contextmanager
def reading(file: str) -> Iterator[Iterator[str]]:
    """Give a file's text in pieces.

    Raises:
        InvalidInput: It is not UTF-8.
        OSError: It can't be read.
    """
    if file == "-":
        yield _pieces(io.TextIOWrapper(sys.stdin.buffer, "utf-8-sig"), file)
        return
    with Path(file).open(encoding="utf-8-sig", newline="") as stream:
        yield _pieces(stream, file)


def _pieces(stream: io.TextIOWrapper, file: str) -> Iterator[str]:
    try:
        while piece := stream.read(_PIECE_CHARS):
            yield piece
    except UnicodeDecodeError as error:
        raise InvalidInput("file", f"{file} is not text in UTF-8") from error
