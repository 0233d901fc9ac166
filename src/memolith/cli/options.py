"""Options that several commands share, and their value types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click

from memolith.errors import InvalidInput

F = TypeVar("F", bound="Callable[..., Any]")

COMMON_KEY = "memolith.common"
"""Key in a context's `meta` of the common options, given before or after the command name."""


def _store_option(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Store a given option. Options after the command name override those before it."""
    if value is not None and value is not False:
        ctx.meta.setdefault(COMMON_KEY, {})[parameter.name] = value


def _common_option(*names: str, help: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, callback=_store_option, expose_value=False, help=help, **attributes)


_COMMON_OPTIONS = (
    _common_option(
        "--store", "--db", "store", metavar="PATH|URL", help="Store: a file or a postgresql:// URL."
    ),
    _common_option("--owner", help="Owner id.  [default: login name]"),
    _common_option("--profile", help="Profile of new owners."),
    _common_option(
        "--config", metavar="FILE", help="Configuration file.  [default: memolith.toml]"
    ),
    _common_option("--json", "as_json", is_flag=True, help="Print JSON."),
)


def common_options(function: F) -> F:
    """Add the options that every command accepts, before or after its name."""
    return _apply_options(_COMMON_OPTIONS, function)


class Instant(click.ParamType[datetime]):
    """A date or time in ISO 8601. Without a time zone, the local zone applies."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return a datetime with a time zone."""
        try:
            at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
            return at if at.tzinfo is not None else at.astimezone()
        except (ValueError, OverflowError):
            self.fail(
                f"{value!r} is not a time in ISO 8601, such as 2024-05-08 or 2024-05-08T13:56Z",
                param,
                ctx,
            )


def read_text_argument(value: str) -> str:
    """Return a text argument. For "-", read standard input.

    Raises:
        InvalidInput: Standard input is not UTF-8.
    """
    if value != "-":
        return value
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("standard input", "is not UTF-8 text") from None


_TOP_K = click.option("--top-k", "-k", type=int, help="Maximum number of results.")
_MODE = click.option(
    "--mode",
    type=click.Choice(["hybrid", "vector", "keyword"]),
    default="hybrid",
    show_default=True,
    help="Search by meaning (vector), by words (keyword), or both.",
)
_INCLUDE_COMPRESSED = click.option(
    "--include-compressed", is_flag=True, help="Include records that a summary replaces."
)
_FILTER_OPTIONS = (
    _TOP_K,
    click.option("--token-budget", type=int, help="Maximum number of prompt tokens."),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        help="Filter by kind; `episode` means messages. Repeatable.",
    ),
    click.option("--session", help="Filter by conversation."),
    click.option("--tag", "tags", multiple=True, help="Filter by tag. Repeatable."),
    click.option("--since", type=Instant(), help="Filter: said or happened at or after this time."),
    click.option("--until", type=Instant(), help="Filter: said or happened before this time."),
    click.option("--as-of", type=Instant(), help="Search the memory as it was at this time."),
    click.option(
        "--touch/--no-touch",
        default=True,
        show_default=True,
        help="Count this as a use of the results.",
    ),
)


def filter_options(function: F) -> F:
    """Add the options that filter and limit search results."""
    return _apply_options(_FILTER_OPTIONS, function)


def recall_options(function: F) -> F:
    """Add the options of `recall`."""
    return _apply_options((*_FILTER_OPTIONS, _MODE, _INCLUDE_COMPRESSED), function)


def _apply_options(options: Sequence[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


# --- Confirmation of irreversible actions


yes_option = click.option(
    "--yes", is_flag=True, help="Skip the confirmation. Required without a terminal."
)


def confirm_or_abort(question: str, *, is_confirmed: bool) -> None:
    """Ask for confirmation of an irreversible action, unless `--yes` was given.

    Raises:
        click.UsageError: Standard input is not a terminal.
        click.Abort: The user declined.
    """
    if is_confirmed:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("This cannot be undone: confirm with --yes.")
    click.confirm(question, abort=True, err=True)
