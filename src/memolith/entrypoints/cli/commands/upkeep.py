"""What `memolith decay`, `cleanup`, `expire` and `retain` share: for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from memolith.entrypoints.cli.calls import CommandCall


def all_owners_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option `--all`."""
    told = "For all owners, not only --owner."
    return click.option("--all", "everybody", is_flag=True, help=told)(function)


def select_owner(call: CommandCall, *, everybody: bool) -> str | None:
    """Return the owner meant; None: all.

    Raises:
        UsageError: Both are given.
    """
    if everybody and "owner" in call.options:
        raise click.UsageError("Give either --owner or --all.")
    return None if everybody else call.owner
