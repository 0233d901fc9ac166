"""What the user must know of keys, on stderr: where they are, who else can read them."""

from __future__ import annotations

import logging

import click

from mnemon.entrypoints.cli.terminal import visible

_LOGGER = "mnemon.adapters.crypto"


class _Notices(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"mnemon: {visible(record.getMessage())}", err=True)


def show_notices() -> None:
    """Show them from now on; doing it twice is no error."""
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(handler, _Notices) for handler in logger.handlers):
        logger.addHandler(_Notices())
        logger.setLevel(logging.INFO)
