"""Answers: tables for people, JSON for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.terminal import escape_controls, escape_json, to_one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

DEFAULT_WIDTH = 100
"""How wide tables are where there is no terminal to ask."""


def print_json(value: object) -> None:
    """Print one JSON document; dataclasses become objects, times ISO 8601."""
    import msgspec

    document = msgspec.json.format(msgspec.json.encode(value, enc_hook=_to_plain_number), indent=2)
    click.echo(escape_json(document.decode()))


def print_json_line(value: object) -> None:
    """Print one JSON document on a line of its own, for programs that read as it comes."""
    import msgspec

    click.echo(escape_json(msgspec.json.encode(value, enc_hook=_to_plain_number).decode()))


def _to_plain_number(value: object) -> object:
    """Return a number of numpy's as Python's own."""
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(type(value).__name__)
    return item()


def print_text(text: str) -> None:
    """Print a text that people and programs read: made harmless on a terminal only."""
    click.echo(escape_controls(text) if sys.stdout.isatty() else text)


def console(columns: int = DEFAULT_WIDTH) -> Console:
    """Return a console on stdout; colours, and a width of its own, on a terminal only."""
    from rich.console import Console

    class Piped(Console):
        """Says when nobody reads on, instead of leaving with an exit code of its own."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    terminal = sys.stdout.isatty()
    return Piped(
        file=sys.stdout,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        width=None if terminal else columns,
        color_system="auto" if terminal else None,
    )


def plain_text(content: str, style: str = "") -> Text:
    """Return a text for a table or the console, made harmless."""
    from rich.text import Text

    return Text(escape_controls(content), style=style)


def build_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, cut: bool = False
) -> Table:
    """Return a table.

    A column whose title begins with ">" is flush right; one whose title begins with "…" gives
    way where the table is too wide: what stands there is folded, or cut off with `cut`.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        gives_way = name.startswith("…")
        made.add_column(
            name.lstrip(">…"),
            justify="right" if name.startswith(">") else "left",
            no_wrap=not gives_way,
            overflow="fold",
        )
    for row in rows:
        texts = (to_one_line(str(cell)) for cell in row)
        made.add_row(
            *(Text(text, no_wrap=cut, overflow="ellipsis" if cut else None) for text in texts)
        )
    return made


def format_count(number: int, one: str, more: str) -> str:
    """Return a number with the word for one or for more."""
    return f"{number:,} {one if number == 1 else more}"


def format_redactions(number: int) -> str:
    """Return the end of a sentence that says how many secrets were taken out; nothing for none."""
    return f"; {format_count(number, 'secret', 'secrets')} redacted" if number else ""


def build_field_table(pairs: Iterable[tuple[str, object]]) -> Table:
    """Return names and values, a line each; what has no value is left out."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs:
        if value not in (None, "", ()):
            made.add_row(name, Text(escape_controls(str(value))))
    return made


def format_time(at: datetime | None) -> str:
    """Return a time to the minute, in UTC, as it is stored."""
    from datetime import UTC

    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def format_date(at: datetime | None) -> str:
    """Return a date, in UTC."""
    return format_time(at)[:10]
