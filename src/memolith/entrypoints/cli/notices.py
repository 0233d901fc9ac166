"""What the user must know, on stderr: of keys, where they are; of all else, what went wrong."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.terminal import escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROJECT_LOGGER = "memolith"
_CRYPTO_LOGGER = "memolith.adapters.crypto"


class _StderrHandler(logging.Handler):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.name.startswith(_CRYPTO_LOGGER)

    def emit(self, record: logging.LogRecord) -> None:
        print_note(record.getMessage())


class DeferredWarnings(logging.Handler):
    """Keeps warnings until they disturb nobody; each once."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__(logging.WARNING)
        self._known: set[str] = set()
        self._new: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning."""
        told = record.getMessage()
        if told not in self._known:
            self._known.add(told)
            self._new.append(told)

    def take_new(self) -> list[str]:
        """Return those that were not taken yet."""
        new, self._new = self._new, []
        return new


def show_warnings() -> None:
    """Show them from now on; doing it twice is no error."""
    logger = logging.getLogger(_PROJECT_LOGGER)
    if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
        logger.addHandler(_StderrHandler())
        logging.getLogger(_CRYPTO_LOGGER).setLevel(logging.INFO)


@contextmanager
def defer_warnings() -> Iterator[DeferredWarnings]:
    """Hold back what is to be shown while the block runs; what is left then is shown."""
    logger = logging.getLogger(_PROJECT_LOGGER)
    before, held = logger.handlers[:], DeferredWarnings()
    logger.handlers = [held]
    try:
        yield held
    finally:
        logger.handlers = before
        for told in held.take_new():
            print_note(told)


def print_note(text: str) -> None:
    """Say something on stderr that is no part of the answer."""
    click.echo(f"memolith: {escape_controls(text)}", err=True)
