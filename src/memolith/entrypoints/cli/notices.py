"""What the user must know, on stderr: of keys, where they are; of all else, what went wrong."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from memolith.entrypoints.cli.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_ALL = "memolith"
_OF_KEYS = "memolith.adapters.crypto"


class _Notices(logging.Handler):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or record.name.startswith(_OF_KEYS)

    def emit(self, record: logging.LogRecord) -> None:
        aside(record.getMessage())


class HeldBack(logging.Handler):
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

    def taken(self) -> list[str]:
        """Return those that were not taken yet."""
        new, self._new = self._new, []
        return new


def show_notices() -> None:
    """Show them from now on; doing it twice is no error."""
    logger = logging.getLogger(_ALL)
    if not any(isinstance(handler, _Notices) for handler in logger.handlers):
        logger.addHandler(_Notices())
        logging.getLogger(_OF_KEYS).setLevel(logging.INFO)


@contextmanager
def held_back() -> Iterator[HeldBack]:
    """Hold back what is to be shown while the block runs; what is left then is shown."""
    logger = logging.getLogger(_ALL)
    before, held = logger.handlers[:], HeldBack()
    logger.handlers = [held]
    try:
        yield held
    finally:
        logger.handlers = before
        for told in held.taken():
            aside(told)


def aside(told: str) -> None:
    """Say something on stderr that is no part of the answer."""
    click.echo(f"memolith: {visible(told)}", err=True)
