"""Asking before what can't be undone."""

from __future__ import annotations

import sys

import click

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
