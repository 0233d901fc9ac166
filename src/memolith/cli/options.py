"""Options that commands share, and the types of their values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import click

from memolith.errors import InvalidInput

F = TypeVar("F", bound="Callable[..., Any]")

COMMON_KEY = "memolith.common"
"""Where in a context's `meta` the common options are kept, whichever side they stood on."""


def _store_option(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep an option that was given; what stands after the command's name wins."""
    if value is not None and value is not False:
        ctx.meta.setdefault(COMMON_KEY, {})[parameter.name] = value


def _common_option(*names: str, help: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, callback=_store_option, expose_value=False, help=help, **attributes)


_COMMON_OPTIONS = (
    _common_option("--store", "--db", "store", metavar="PATH|URL", help="The store's file."),
    _common_option("--owner", help="Whose memory; default: your login name."),
    _common_option("--profile", help="The profile of new owners."),
    _common_option("--config", metavar="FILE", help="The configuration; default: memolith.toml."),
    _common_option("--json", "as_json", is_flag=True, help="Answer in JSON."),
)


def common_options(function: F) -> F:
    """Add the options that every command takes, before or after its name."""
    return _apply_options(_COMMON_OPTIONS, function)


class Instant(click.ParamType[datetime]):
    """A date or a time in ISO 8601; without a zone it is in the zone of this machine."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return an instant with a zone."""
        try:
            at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
            return at if at.tzinfo is not None else at.astimezone()
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time like 2024-05-08 or 2024-05-08T13:56Z", param, ctx)


def read_text_argument(value: str) -> str:
    """Return a text given as an argument; "-" stands for standard input.

    Raises:
        InvalidInput: What stands there is not UTF-8.
    """
    if value != "-":
        return value
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("standard input", "is not UTF-8 text") from None


_TOP_K = click.option("--top-k", "-k", type=int, help="How many results at most.")
_MODE = click.option(
    "--mode",
    type=click.Choice(["hybrid", "vector", "keyword"]),
    default="hybrid",
    show_default=True,
    help="By meaning, by words, or by both.",
)
_INCLUDE_COMPRESSED = click.option(
    "--include-compressed", is_flag=True, help="Also what a summary stands for."
)
_FILTER_OPTIONS = (
    _TOP_K,
    click.option("--token-budget", type=int, help="How many tokens they may take."),
    click.option(
        "--kind", "kinds", multiple=True, help="Only this kind; `episode`: messages. Repeatable."
    ),
    click.option("--session", help="Only this conversation."),
    click.option("--tag", "tags", multiple=True, help="Only with this tag. Repeatable."),
    click.option("--since", type=Instant(), help="Only what was said or happened since."),
    click.option("--until", type=Instant(), help="Only what was said or happened before."),
    click.option("--as-of", type=Instant(), help="Answer as the memory stood then."),
    click.option(
        "--touch/--no-touch",
        default=True,
        show_default=True,
        help="Whether it counts as a use of what is found.",
    ),
)


def filter_options(function: F) -> F:
    """Add the options that say what may be found, and how much of it."""
    return _apply_options(_FILTER_OPTIONS, function)


def recall_options(function: F) -> F:
    """Add the options of `recall`."""
    return _apply_options((*_FILTER_OPTIONS, _MODE, _INCLUDE_COMPRESSED), function)


def _apply_options(options: Sequence[Callable[[F], F]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


# --- Asking before what can't be undone


yes_option = click.option("--yes", is_flag=True, help="Do not ask; a program must say so.")


def confirm_or_abort(question: str, *, is_confirmed: bool) -> None:
    """Go on if it was agreed to, now or by `--yes`.

    Raises:
        click.UsageError: There is nobody to ask.
        click.Abort: The answer was no.
    """
    if is_confirmed:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("That can't be undone: give --yes.")
    click.confirm(question, abort=True, err=True)
