"""Output of commands: escaped text, tables, JSON, warnings and progress bars.

Stored text can contain control characters. They are escaped before they reach a terminal.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

# C0 except tab and newline, DEL, C1, bidirectional controls, line separators, invisible
# characters and lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)

_INCOMPLETE_END = re.compile("[\r\ud800-\udbff]\\Z")


def escape_controls(text: str) -> str:
    r"""Return a text with its control characters escaped: ESC becomes `\x1b`."""
    return _UNSAFE.sub(_escape_match, text.replace("\r\n", "\n"))


class StreamEscaper:
    """Escapes a text that arrives in pieces.

    Holds back an incomplete end: a carriage return, or the first half of a surrogate pair.
    """

    def __init__(self) -> None:
        """Start an empty text."""
        self._pending = ""

    def feed(self, piece: str) -> str:
        """Return the escaped text that is complete after another piece."""
        text = self._pending + piece
        end = len(text) - 1 if _INCOMPLETE_END.search(text) else len(text)
        self._pending = text[end:]
        return escape_controls(_join_surrogates(text[:end]))

    def flush(self) -> str:
        """Return the escaped rest of the text."""
        return escape_controls(self._pending)


def _join_surrogates(text: str) -> str:
    """Return a text with surrogate pairs joined to characters."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def to_one_line(text: str) -> str:
    """Return a text escaped and on one line, with runs of white space as single spaces."""
    return escape_controls(" ".join(text.split()))


def escape_json(document: str) -> str:
    r"""Return a JSON document with control characters as `\u` escapes: the same values."""
    return _UNSAFE.sub(_escape_json_match, document)


def _escape_match(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004 - two digits


def _escape_json_match(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# --- Tables and JSON


DEFAULT_WIDTH = 100
"""Width of tables without a terminal, in columns."""


def print_json(value: object) -> None:
    """Print a value as an indented JSON document. Dataclasses become objects, times ISO 8601."""
    import msgspec

    document = msgspec.json.format(msgspec.json.encode(value, enc_hook=_to_plain_number), indent=2)
    click.echo(escape_json(document.decode()))


def print_json_line(value: object) -> None:
    """Print a value as a JSON document on one line."""
    import msgspec

    click.echo(escape_json(msgspec.json.encode(value, enc_hook=_to_plain_number).decode()))


def _to_plain_number(value: object) -> object:
    """Return a NumPy scalar as a Python number."""
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(type(value).__name__)
    return item()


def print_text(text: str) -> None:
    """Print a text for people and programs. It is escaped only on a terminal."""
    click.echo(escape_controls(text) if sys.stdout.isatty() else text)


def console(columns: int = DEFAULT_WIDTH) -> Console:
    """Return a console on stdout. Uses colours and the terminal's width only on a terminal."""
    from rich.console import Console

    class Piped(Console):
        """Raises `BrokenPipeError` for a closed pipe; Rich itself would exit."""

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
    """Return an escaped text for a table or the console."""
    from rich.text import Text

    return Text(escape_controls(content), style=style)


def build_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, cut: bool = False
) -> Table:
    """Return a table of escaped cells.

    Titles can start with markers: ">" aligns a column right, and "…" marks a column that shrinks in
    a narrow terminal. Its cells are wrapped, or truncated with `cut`.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        can_shrink = name.startswith("…")
        table.add_column(
            name.lstrip(">…"),
            justify="right" if name.startswith(">") else "left",
            no_wrap=not can_shrink,
            overflow="fold",
        )
    for row in rows:
        texts = (to_one_line(str(cell)) for cell in row)
        table.add_row(
            *(Text(text, no_wrap=cut, overflow="ellipsis" if cut else None) for text in texts)
        )
    return table


def format_count(number: int, singular: str, plural: str) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number:,} {singular if number == 1 else plural}"


def format_redactions(number: int) -> str:
    """Return the end of a sentence with the number of redacted secrets. Empty for none."""
    return f"; {format_count(number, 'secret', 'secrets')} redacted" if number else ""


def build_field_table(pairs: Iterable[tuple[str, object]]) -> Table:
    """Return a table of names and values, without the empty values."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        if value not in (None, "", ()):
            table.add_row(name, Text(escape_controls(str(value))))
    return table


def format_time(at: datetime | None) -> str:
    """Return a time in UTC, to the minute."""
    from datetime import UTC

    return "" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def format_date(at: datetime | None) -> str:
    """Return a date in UTC."""
    return format_time(at)[:10]


# --- Warnings on stderr


_PROJECT_LOGGER = "memolith"
_CRYPTO_LOGGER = "memolith.adapters.crypto"


class _StderrHandler(logging.Handler):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.name.startswith(_CRYPTO_LOGGER)

    def emit(self, record: logging.LogRecord) -> None:
        print_note(record.getMessage())


class DeferredWarnings(logging.Handler):
    """Collects warnings, each once, to show them later."""

    def __init__(self) -> None:
        """Start without warnings."""
        super().__init__(logging.WARNING)
        self._known: set[str] = set()
        self._new: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Add a warning."""
        message = record.getMessage()
        if message not in self._known:
            self._known.add(message)
            self._new.append(message)

    def take_new(self) -> list[str]:
        """Return the warnings since the last call."""
        new, self._new = self._new, []
        return new


def show_warnings() -> None:
    """Print log warnings to stderr from now on. Calling it twice is not an error."""
    logger = logging.getLogger(_PROJECT_LOGGER)
    if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
        logger.addHandler(_StderrHandler())
        logging.getLogger(_CRYPTO_LOGGER).setLevel(logging.INFO)


@contextmanager
def defer_warnings() -> Iterator[DeferredWarnings]:
    """Hold back warnings while the block runs, and print the remaining ones at its end."""
    logger = logging.getLogger(_PROJECT_LOGGER)
    before, deferred = logger.handlers[:], DeferredWarnings()
    logger.handlers = [deferred]
    try:
        yield deferred
    finally:
        logger.handlers = before
        for message in deferred.take_new():
            print_note(message)


def print_note(text: str) -> None:
    """Print a note to stderr."""
    click.echo(f"memolith: {escape_controls(text)}", err=True)


# --- Progress bars on stderr, on a terminal only


@contextmanager
def growing_progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar while the block runs. The total may change.

    Args:
        title: The name of the operation.

    Yields:
        A function to call with the steps done since the last call, and the total.
    """
    if not sys.stderr.isatty():
        yield lambda _steps, _total: None
        return
    with _make_progress_bar() as progress_bar:
        task = progress_bar.add_task(title, total=None)
        yield lambda steps, total: progress_bar.update(task, advance=steps, total=total)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar while the block runs.

    Args:
        title: The name of the operation.
        total: The number of steps, if it is known.

    Yields:
        A function to call with the steps done since the last call.
    """
    if not sys.stderr.isatty():
        yield lambda _steps: None
        return
    with _make_progress_bar() as progress_bar:
        task = progress_bar.add_task(title, total=total)
        yield lambda steps: progress_bar.advance(task, steps)


def _make_progress_bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
